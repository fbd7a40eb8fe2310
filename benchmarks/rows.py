"""Converting a packed batch to padded rows, as peers need it: the same pairs, in groups of similar length.

All groups of a batch make one step, so that a peer takes exactly our steps. One length per step would need less
padding, but the gradient of such a step is biased to this length, and with as many tokens as in the paper a model
learns far more slowly (docs/results/logs/training/padded.txt).
"""

import numpy as np
from numpy.typing import NDArray

from hark.data.batches import Batch, PackedBatch, PackedStream, PaddedBatch, PaddedStream, Tokens
from hark.text.tokenizer import SPECIAL

MULTIPLE = 8
"""The width of a group is a multiple of this: PyTorch would copy a mask of another width."""


def lay_out(batch: PackedBatch, groups: int) -> list[PaddedBatch]:
    """Split a batch into at most `groups` groups with the fewest slots; the longest rows come last."""
    source, target = (np.diff(cu)[: batch.n_pairs] for cu in (batch.streams[name].cu for name in ("source", "target")))
    width = -(-np.maximum(source, target) // MULTIPLE) * MULTIPLE
    order = np.argsort(width, kind="stable")
    return [group_of(batch, order[begin:end], int(width[order[end - 1]])) for begin, end in cut(width[order], groups)]


def cut(widths: NDArray[np.int32], groups: int) -> list[tuple[int, int]]:
    """Cut rows of ascending width into groups with the fewest slots, by dynamic programming."""
    values, ends = np.unique(widths, return_index=True)
    ends = np.append(ends[1:], len(widths))
    begins = np.append(0, ends[:-1])
    slots = np.where(np.tri(len(values), dtype=bool).T, (ends - begins[:, None]) * values, np.inf)  # first, last width
    best, choices = slots[0], [np.zeros(len(values), int)]
    for _ in range(min(groups, len(values)) - 1):
        several = np.append(np.inf, best[:-1])[:, None] + slots
        choices.append(several.argmin(axis=0))
        best = several.min(axis=0)
    cuts, last = [], len(values) - 1
    for choice in reversed(choices):
        cuts.append((int(begins[choice[last]]), int(ends[last])))
        last = int(choice[last]) - 1
    return cuts[::-1]


def group_of(batch: PackedBatch, rows: NDArray[np.intp], width: int) -> PaddedBatch:
    streams = {name: padded_stream(stream, rows, width) for name, stream in batch.streams.items()}
    n_tokens = {name: int(stream.lengths.sum()) for name, stream in streams.items()}
    return Batch(batch.index, batch.pairs[rows], streams, n_tokens)


def padded_stream(stream: PackedStream[Tokens], rows: NDArray[np.intp], width: int) -> PaddedStream[Tokens]:
    begin, lengths = stream.cu[rows], stream.cu[rows + 1] - stream.cu[rows]
    place = np.arange(width)
    inside = place < lengths[:, None]
    slots = np.where(inside, begin[:, None] + place, 0)
    tokens, labels = (
        None if each is None else np.where(inside, each[slots], np.int32(SPECIAL.pad))
        for each in (stream.tokens, stream.labels)
    )
    assert tokens is not None
    return PaddedStream(tokens, lengths, labels)
