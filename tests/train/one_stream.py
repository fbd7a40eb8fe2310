"""A small language model with its objective, and batches for it."""

from collections.abc import Sequence

import numpy as np
import torch

from hark.config import ModelConfig
from hark.data.batches import Batch, PackedStream, PaddedStream, TokenStream
from hark.model import OneStack
from hark.text.vocabulary import SpecialIds
from hark.train.loss import Objective

SPECIAL = SpecialIds(pad=39, unknown=38, start=37, end=36)  # unlike those of our tokenizer
VOCABULARY = 40
LONGEST = 16


def draw_sentences(count: int, seed: int) -> list[list[int]]:
    """Draw sentences of consecutive ids, so that each token can be predicted from the previous one."""
    rng = np.random.default_rng(seed)
    return [
        [int((first + i) % 30) for i in range(length)]
        for first, length in zip(rng.integers(0, 30, count), rng.integers(1, LONGEST, count), strict=True)
    ]


def packed_batch(sentences: Sequence[Sequence[int]], slots: int = 256) -> Batch[PackedStream[np.ndarray]]:
    tokens, labels = (np.full(slots, SPECIAL.pad, np.int32) for _ in range(2))
    lengths = [len(each) + 1 for each in sentences]
    n_tokens = sum(lengths)
    tokens[:n_tokens] = [token for each in sentences for token in (SPECIAL.start, *each)]
    labels[:n_tokens] = [token for each in sentences for token in (*each, SPECIAL.end)]
    dummies = range(n_tokens, slots, LONGEST)
    cu = np.array([0, *np.cumsum(lengths)[:-1], *dummies, *[slots] * (slots // LONGEST - len(dummies) + 1)], np.int32)
    positions = np.arange(slots, dtype=np.int32) - np.repeat(cu[:-1], np.diff(cu))
    return batch_of(PackedStream(tokens, positions, cu, labels), len(sentences), n_tokens)


def padded_batch(sentences: Sequence[Sequence[int]]) -> Batch[PaddedStream[np.ndarray]]:
    lengths = np.array([len(each) + 1 for each in sentences], np.int32)
    tokens, labels = (np.full((len(sentences), lengths.max()), SPECIAL.pad, np.int32) for _ in range(2))
    for row, each in enumerate(sentences):
        tokens[row, : len(each) + 1] = [SPECIAL.start, *each]
        labels[row, : len(each) + 1] = [*each, SPECIAL.end]
    return batch_of(PaddedStream(tokens, lengths, labels), len(sentences), int(lengths.sum()))


def batch_of(stream: TokenStream, n_sentences: int, n_tokens: int) -> Batch:
    return Batch(0, np.zeros((n_sentences, 3), np.int64), {"target": stream}, {"target": n_tokens})


def objective() -> Objective:
    torch.manual_seed(1)
    config = ModelConfig(
        shape="decoder", n_decoder_layers=1, d_model=32, d_ff=32, n_heads=2, vocab_size=VOCABULARY, dropout=0.0
    )
    return Objective(OneStack(config), 0.1, LONGEST, SPECIAL.pad)
