"""The analytic count of operations agrees with torch's own counter."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from hark.config import ModelConfig
from hark.data.dataset import Dataset
from hark.model import Transformer
from hark.model.layout import of_translation
from hark.model.patterns import Padded
from hark.reproduce.cost import Lengths, forward_flops, run_flops, text_lengths, training_flops

SHAPES = {
    "base": (ModelConfig(), 3, 30, 25),
    "two layers of big": (
        ModelConfig(d_model=1024, d_ff=4096, n_heads=16, n_encoder_layers=1, n_decoder_layers=1),
        1, 40, 35,
    ),
    "one layer, long": (ModelConfig(n_encoder_layers=1, n_decoder_layers=1, vocab_size=1000), 2, 400, 300),
    "d_k alone": (ModelConfig(d_k=16, n_encoder_layers=2, n_decoder_layers=1, vocab_size=500), 2, 20, 90),
    "swiglu, untied": (
        ModelConfig(d_model=64, d_ff=96, activation="swiglu", tie="none", n_encoder_layers=1, n_decoder_layers=3),
        4, 9, 7,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_counts_agree_with_torch(name: str) -> None:
    config, pairs, source, target = SHAPES[name]
    with torch.device("meta"):  # shapes without values: nothing is computed
        model = Transformer(config)
        positions = [torch.arange(n).expand(pairs, -1) for n in (source, target)]
        # Explicit products: torch does not count every fused kernel.
        layout = of_translation(*positions, Padded(), Padded(causal=True), Padded())
        layout = layout.observed(dict.fromkeys(layout.patterns, lambda _: None))
        tokens = [torch.zeros(pairs, n, dtype=torch.long) for n in (source, target)]
        with FlopCounterMode(display=False) as counter:
            out = model(*tokens, layout)
            forward = counter.get_total_flops()
            out.sum().backward()
        both = counter.get_total_flops()
    lengths = Lengths.equal(pairs, source, target)
    assert forward_flops(config, lengths) == pytest.approx(forward, rel=0.02)
    assert training_flops(config, lengths) == pytest.approx(both, rel=0.02)


def test_lengths_of_different_sentences_are_summed() -> None:
    config = ModelConfig(d_model=16, d_ff=32, n_heads=2, n_encoder_layers=1, n_decoder_layers=1)
    one, other = Lengths.equal(1, 5, 7), Lengths.equal(1, 11, 3)
    together = Lengths.of(np.array([5, 11]), np.array([7, 3]))
    assert forward_flops(config, together) == forward_flops(config, one) + forward_flops(config, other)


def test_the_cost_of_a_run_is_that_of_its_text(text: Dataset) -> None:
    lengths = text_lengths(text, 64)
    shard = text.shards("train")[0]
    assert lengths.target == shard.target_tokens + shard.pairs  # EOS
    config = ModelConfig(d_model=16, d_ff=32, n_heads=2)
    assert run_flops(config, lengths, 2 * lengths.target) == pytest.approx(2 * training_flops(config, lengths))
    assert text_lengths(text, 2).target < lengths.target
