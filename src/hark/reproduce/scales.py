"""The scales of an experiment: sizes of models, batches and text, and the settings of a training run at that scale."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hark.config import Config, ModelConfig

ScaleName = Literal["small", "medium", "full", "tiny"]
PAPER_WARMUP = 4000
SHORT_DROPOUT = 0.1
"""The most dropout of a short run of the big model, which cannot overfit. With the paper's 0.3, it learned next to
nothing in 6,000 steps (1.8 BLEU on newstest2014; docs/what-did-not-work.md)."""
CHECKPOINTS = 20
"""Checkpoints over a run whose last ones are averaged; the paper's five last ones are 7% of its run, ours 20%."""


def warmup_for(steps: int) -> int:
    """The paper's warm-up, or a quarter of a short run."""
    return min(PAPER_WARMUP, max(1, steps // 4))


@dataclass(frozen=True)
class Scale:
    """A budget. Models keep the paper's proportions: widths and layers are divided by a constant."""

    name: ScaleName
    about: str
    widths: int
    """What every width is divided by, down to 1."""
    layers: int
    """What the number of layers is divided by, down to 1."""
    batch_tokens: int
    max_length: int
    vocab_size: int
    steps: Mapping[str, int]
    """Optimiser steps of a run, by target; `table2 big` and `table3 big` for the big model."""
    sentences: int | None
    """Sentences of each set that are translated for BLEU; None: all."""
    lengths: tuple[int, ...]
    """Table 1: sequence lengths n, at the width `width`."""
    depths: tuple[int, ...]
    """Table 1: widths d, at the length `length`."""
    repeats: int = 5
    """Table 1: how often a layer is timed; the fastest time counts."""
    averaged: int = 5
    model: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of every model."""
    search: Mapping[str, Any] = field(default_factory=dict)
    """Changed settings of the search."""

    def shrink(self, model: ModelConfig) -> ModelConfig:
        """A model of the paper at this scale: the same proportions, the same number of heads."""

        def width(value: int) -> int:
            return max(1, value // self.widths)

        return replace(
            model,
            d_model=width(model.d_model),
            d_ff=width(model.d_ff),
            d_k=width(model.k_width),
            d_v=width(model.v_width),
            n_encoder_layers=max(1, model.n_encoder_layers // self.layers),
            n_decoder_layers=max(1, model.n_decoder_layers // self.layers),
            vocab_size=self.vocab_size,
            **self.model,
        )

    def short_dropout(self, model: ModelConfig) -> ModelConfig:
        """The big model with a dropout that suits the scale."""
        return model if self.name == "full" else replace(model, dropout=min(model.dropout, SHORT_DROPOUT))

    def training(self, config: Config, steps: int, average: bool, warmup: int | None = None) -> Config:
        """The settings of a run: the paper's recipe, cut to a number of steps.

        A run that is too short for the paper's warm-up has a shorter one with the same peak rate, unless `warmup` is
        given. With `average`, it keeps the checkpoints to average; the paper does not average in Table 3.
        """
        warmup = warmup or warmup_for(steps)
        train = replace(
            config.train,
            steps=steps,
            warmup_steps=warmup,
            rate_scale=(warmup / PAPER_WARMUP) ** 0.5,
            log_steps=max(1, steps // 50),
            eval_steps=steps,
            best="last",
            save_steps=max(1, steps // (CHECKPOINTS if average else 2)),
            save_minutes=1e6,  # by steps only, so that averages are of evenly spaced checkpoints
            keep_last=self.averaged if average else 1,
            average_last=self.averaged if average else 1,
        )
        batches = replace(config.batches, batch_tokens=self.batch_tokens, max_length=self.max_length)
        return replace(config, train=train, batches=batches, decode=replace(config.decode, **self.search))


SMALL = Scale(
    name="small",
    about="2 cores",
    widths=8,
    layers=2,
    batch_tokens=2048,
    max_length=64,
    vocab_size=2000,
    steps={"table2 base": 400, "table2 big": 400, "table3": 100, "table3 big": 100, "ablate": 200}
    | {"table4 gum parse": 300, "table4 wsj_sample parse": 300},
    sentences=200,
    lengths=(256, 512, 1024, 2048),
    depths=(128, 256, 512, 1024),
    repeats=3,
)
MEDIUM = Scale(
    name="medium",
    about="one H200",
    widths=1,
    layers=1,
    batch_tokens=25000,
    max_length=250,
    vocab_size=37000,
    steps={"table2 base": 8_000, "table2 big": 8_000, "table3": 3_000, "table3 big": 3_000, "ablate": 3_000}
    | {"table4 gum parse": 8_000, "table4 gum parse-small": 20_000, "table4 wsj_sample parse": 4_000}
    | {"table4 wsj_sample parse-small": 10_000},
    sentences=None,
    lengths=(1024, 2048, 4096, 8192, 16384),
    depths=(512, 1024, 2048, 4096),
    repeats=10,
)
FULL = replace(
    MEDIUM,
    name="full",
    steps={"table2 base": 100_000, "table2 big": 300_000, "table3": 100_000, "table3 big": 300_000, "ablate": 100_000}
    | {"table4 wsj parse": 50_000},
)
TINY = replace(
    SMALL,
    name="tiny",
    about="seconds",
    widths=32,  # d_k is then 2: with 1, there would be no scaling to leave out
    layers=6,
    batch_tokens=256,
    vocab_size=300,
    steps={"table2 base": 4, "table2 big": 4, "table3": 2, "table3 big": 2, "ablate": 4}
    | {"table4 gum parse": 4, "table4 wsj_sample parse": 4},
    sentences=1,
    lengths=(16, 32, 64),
    depths=(16, 32, 64),
    repeats=1,
    averaged=2,
    model={"max_positions": 256},
    search={"beam": 2, "max_extra": 1},
)
SCALES: Mapping[ScaleName, Scale] = {each.name: each for each in (SMALL, MEDIUM, FULL, TINY)}
