"""Counts the floating-point operations of the model from its settings and the lengths of sentences.

Only matrix products count, a multiplication and an addition each: 2 m n k for a product of m x k and k x n. Attention
counts every query with every key, masked or not. Torch's own counter follows the same rules, and a test compares them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from hark.config import ModelConfig
from hark.data.dataset import Dataset

TRAINING = 3
"""Operations of a training step per operation of its forward pass: the backward pass has two products for each."""


@dataclass(frozen=True)
class Lengths:
    """What the operations for a set of sentence pairs depend on: sums over the pairs of lengths and of their products.
    A source includes EOS; a target is as long as the decoder's input."""

    source: float
    target: float
    source_source: float
    target_target: float
    target_source: float

    @classmethod
    def of(cls, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> "Lengths":
        s, t = sources.astype(np.float64), targets.astype(np.float64)
        return cls(*(float(each.sum()) for each in (s, t, s * s, t * t, t * s)))

    @classmethod
    def equal(cls, pairs: int, source: int, target: int) -> "Lengths":
        """Pairs of the same lengths."""
        return cls.of(np.full(pairs, source), np.full(pairs, target))

    def times(self, factor: float) -> "Lengths":
        return Lengths(*(factor * getattr(self, each.name) for each in fields(self)))


def forward_flops(config: ModelConfig, lengths: Lengths) -> float:
    """Operations of a forward pass, from embeddings to logits."""
    c, n = config, lengths
    keys, values = 2 * c.d_model * c.n_heads * c.k_width, 2 * c.d_model * c.n_heads * c.v_width
    """One projection of a token to queries or keys; to values, or from them to the output (paper, 3.2.2)."""
    pair = 2 * c.n_heads * (c.k_width + c.v_width)
    """A query with a key: their product, and the weighted value (paper, equation 1)."""
    inner = 2 * c.d_model * c.d_ff * (3 if c.activation == "swiglu" else 2)
    encoder = n.source * (2 * keys + 2 * values + inner) + n.source_source * pair
    self_attention = n.target * (2 * keys + 2 * values) + n.target_target * pair
    cross_attention = n.target * (keys + values) + n.source * (keys + values) + n.target_source * pair
    decoder = self_attention + cross_attention + n.target * inner
    logits = 2 * n.target * c.d_model * c.vocab_size
    return c.n_encoder_layers * encoder + c.n_decoder_layers * decoder + logits


def training_flops(config: ModelConfig, lengths: Lengths) -> float:
    """Operations of forward and backward passes. Updates of weights, a few operations per weight, do not count."""
    return TRAINING * forward_flops(config, lengths)


def text_lengths(dataset: Dataset, max_length: int) -> Lengths:
    """The lengths of the training text, as the model reads it."""
    return sum_lengths(
        Lengths.of(s[fits], t[fits])
        for corpus in dataset.train
        for s, t in [(corpus.variants[0].source_lengths + 1, corpus.variants[0].target_lengths + 1)]
        for fits in [np.maximum(s, t) <= max_length]
    )


def sum_lengths(parts: Iterable[Lengths]) -> Lengths:
    columns = zip(*([getattr(each, name.name) for name in fields(Lengths)] for each in parts), strict=True)
    return Lengths(*map(sum, columns))


def run_flops(config: ModelConfig, text: Lengths, target_tokens: float) -> float:
    """Operations of a run over `target_tokens` of a text with these lengths."""
    return training_flops(config, text.times(target_tokens / text.target))
