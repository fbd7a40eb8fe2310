"""What each ingredient is worth: the base model without it, everything else unchanged.

Averaging and the length penalty need no training of their own: they change how the base run is decoded.

A model without scaling, residual connections or layer norm is built as usual, and the modules concerned are replaced:
nobody should train one except to see what the part is worth, so it is not a setting. Weights keep their names and
shapes, so training, checkpoints, averaging and the engine work unchanged.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor, nn

from hark import configfile
from hark.config import Config, ModelConfig
from hark.model import Transformer
from hark.model.attention import Memory, MultiHeadAttention
from hark.model.backends import PLAIN, Backend, Stream
from hark.model.layers import Residual
from hark.model.patterns import Attend
from hark.model.positions import Rotation
from hark.pages.bars import BarRow, draw_bars
from hark.reproduce.corpora import describe_text
from hark.reproduce.cost import training_cost
from hark.reproduce.published import differences, millions, number, perplexity, signed, table
from hark.reproduce.scales import Scale
from hark.reproduce.translating import run_translation
from hark.reproduce.trial import Advance, Trial, load_model, mean_bleu, measure_bleu, measure_perplexity
from hark.reproduce.work import Report, Row, Rows, Target, TargetPart, Work
from hark.rundir import RunDir
from hark.train.start import Build


class UnscaledAttention(MultiHeadAttention):
    """`softmax(Q K^T) V`: equation 1 without the division by sqrt(d_k)."""

    def forward(
        self,
        x: Tensor,
        pattern: Attend,
        memory: Memory | None = None,
        rotation: Rotation | None = None,
        backend: Backend = PLAIN,
    ) -> Tensor:
        factor = math.sqrt(self.k_width)  # cancels the division in whichever kernel computes the pattern

        def unscaled(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return pattern(q * factor, k, v)

        return super().forward(x, unscaled, memory, rotation, backend)


class WithoutResidual(Residual):
    """`LayerNorm(Sublayer(x))`: nothing is added."""

    def forward(self, x: Stream, sublayer: Callable[[Tensor], Tensor], backend: Backend = PLAIN) -> Stream:  # noqa: ARG002
        s = sublayer(x)
        return self.norm(self.dropout(s)).to(s.dtype)  # autocast runs norms in float32, our kernels expect 16 bits


class WithoutNorm(Residual):
    """`x + Sublayer(x)`: the sum is not normalised. The weights of the norm exist but have no effect."""

    def forward(self, x: Stream, sublayer: Callable[[Tensor], Tensor], backend: Backend = PLAIN) -> Stream:  # noqa: ARG002
        # The norm enters with factor 0, because captured graphs and DDP need a gradient for every weight.
        assert isinstance(self.norm, nn.LayerNorm)
        s = sublayer(x)
        return (x + self.dropout(s) + 0 * (self.norm.weight + self.norm.bias)).to(s.dtype)


def build_unscaled(config: ModelConfig) -> Transformer:
    return replace_modules(Transformer(config), MultiHeadAttention, UnscaledAttention)


def build_without_residuals(config: ModelConfig) -> Transformer:
    return replace_modules(Transformer(config), Residual, WithoutResidual)


def build_without_norm(config: ModelConfig) -> Transformer:
    return replace_modules(Transformer(config), Residual, WithoutNorm)


def replace_modules(model: Transformer, kind: type[nn.Module], other: type[nn.Module]) -> Transformer:
    """Make every module of a class one of a subclass, which has the same weights and another `forward`."""
    assert issubclass(other, kind)
    for module in model.modules():
        if type(module) is kind:
            module.__class__ = other
    return model


LAST, SHORT = "last", "alpha0"
"""Decoded from the base run: its last weights, and no length penalty."""


@dataclass(frozen=True)
class Ablation:
    """An ingredient and how to train without it."""

    name: str
    about: str
    paper: str
    """What the paper says about it, and where."""
    build: Build = Transformer
    model: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] = field(default_factory=dict)

    def apply(self, config: Config) -> Config:
        return replace(config, model=replace(config.model, **self.model), train=replace(config.train, **self.train))


TRAINED = (
    Ablation("base", "the paper's base model", "-"),
    Ablation("scaling", "no division by sqrt(d_k)", "3.2.1: else gradients of the softmax vanish", build_unscaled),
    Ablation("residuals", "no residual connections", "3.1", build_without_residuals),
    Ablation("norm", "no layer norm", "3.1", build_without_norm),
    Ablation("tying", "separate embeddings and output matrix", "3.4", model={"tie": "none"}),
    Ablation("smoothing", "no label smoothing", "Table 3 (D): +0.5 BLEU", train={"label_smoothing": 0.0}),
)  # fmt: skip
DECODED = (
    (LAST, "last weights, no averaging", "6.1"),
    (SHORT, "no length penalty (alpha 0)", "6.1: alpha 0.6, chosen on the dev set"),
)


def ablation_config(ablation: Ablation, scale: Scale, steps: int | None) -> Config:
    config = Config()
    config = scale.training(replace(config, model=scale.shrink(config.model)), steps or scale.steps["ablate"], True)
    return ablation.apply(config)


def parts(scale: Scale, steps: int | None) -> list[TargetPart]:
    return [ablation_part(each, ablation_config(each, scale, steps)) for each in TRAINED]


def ablation_part(ablation: Ablation, config: Config) -> TargetPart:
    def measure(work: Work, advance: Advance) -> Row:
        def decode_otherwise(trial: Trial, run: RunDir, row: Row) -> Row:
            if ablation.name != "base":
                return {}
            sentences = work.scale.sentences
            average, last = (load_model(trial, run, number) for number in (config.train.average_last, 1))
            short = measure_bleu(trial, average, "dev", replace(config.decode, alpha=0.0), sentences)
            newest = measure_bleu(trial, last, "dev", config.decode, sentences)
            return {
                SHORT: {"perplexity": row["perplexity"], "bleu": mean_bleu(short)},
                LAST: {"perplexity": measure_perplexity(trial, last), "bleu": mean_bleu(newest)},
            }

        return run_translation(config, ablation.name, work, advance, build=ablation.build, more=decode_otherwise)

    # The build is not part of the settings, so it is named.
    settings = f"{ablation.build.__name__}\n{configfile.dump(config)}"
    return TargetPart(ablation.name, ablation.about, training_cost(config), settings, measure)


def results(rows: Rows) -> list[tuple[str, str, str, Row]]:
    """Name, description, what the paper says, and result of every line of the table."""
    base = rows["base"]
    lines: list[tuple[str, str, str, Row]] = [(each.name, each.about, each.paper, rows[each.name]) for each in TRAINED]
    missing: Row = {"failed": base.get("failed", "")}
    return lines + [(name, about, paper, base.get(name, missing)) for name, about, paper in DECODED]


def report(work: Work, rows: Rows) -> Report:
    base = rows["base"]
    head = ["without", "what the paper says", "PPL", "BLEU", "worth: BLEU", "weights in M"]
    lines = []
    for name, about, paper, row in results(rows):
        if "failed" in row:
            lines.append([about, paper, "diverged", "diverged", "-", "-"])
            continue
        worth = "" if name == "base" else signed(base["bleu"] - row["bleu"]) if "bleu" in base else "-"
        weights = millions(row["weights"]) if "weights" in row else millions(base["weights"])
        lines.append([about, paper, perplexity(row["perplexity"]), number(row["bleu"]), worth, weights])
    sets = base.get("sets", [])
    scale = work.scale
    notes = [
        "the paper has no such table; it gives figures only for label smoothing",
        f"text: {describe_text(work.dataset)}; scored on {', '.join(each['name'] for each in sets)} "
        f"({sum(each['sentences'] for each in sets):,} sentences, sacreBLEU "
        f"{sets[0]['signature'] if sets else '-'})",
        f"steps: {base['steps']:,} of {scale.batch_tokens:,} tokens, not 100,000; one run each, so differences of "
        "a few tenths of a point are noise (table3 has the spread of two seeds)",
        f"average of {scale.averaged} checkpoints over the last fifth of the run",
    ]
    if scale.widths > 1:
        notes.append(f"sizes: widths are 1/{scale.widths} of the paper's, layers 1/{scale.layers}")
    markdown = (
        f"# Ablations, {scale.name}\n\n{table(head, lines)}\n"
        "Worth: BLEU of the base model minus BLEU without the ingredient.\n\n"
        f"{differences(notes)}"
    )
    return Report(markdown, {"ablate": draw(rows)})


def draw(rows: Rows) -> str:
    base = rows["base"].get("bleu")
    bars = [
        BarRow(about, (row["bleu"] - base if "bleu" in row and base is not None else None,))
        for name, about, _, row in results(rows)
        if name != "base"
    ]
    return draw_bars("What each ingredient is worth: BLEU without it, relative to base", ("ours",), bars)


TARGET = Target("ablate", "what each ingredient is worth", parts, report)
