"""A packed batch laid out again in rows with padding, as peers need it: the same pairs, in groups of similar length.

All groups of a batch make one step, so that a peer takes the very steps that ours takes. Batches of one length a step
would need less padding; but their gradient is that of sentences of this length, and with as many tokens as in the paper
a model learns far more slowly from such steps (docs/results/logs/training/padded.txt).
"""

import numpy as np
from numpy.typing import NDArray

from hark.data.batches import Batch, PackedBatch, PackedStream, PaddedBatch, PaddedStream, Tokens
from hark.text.tokenizer import SPECIAL

MULTIPLE = 8
"""Of which the width of a group is one: PyTorch would copy a mask of another width."""


def lay_out(batch: PackedBatch, groups: int) -> list[PaddedBatch]:
    """As few slots as so many groups, or fewer, allow; the longest rows come last."""
    source, target = (np.diff(cu)[: batch.n_pairs] for cu in (batch.streams[name].cu for name in ("source", "target")))
    width = -(-np.maximum(source, target) // MULTIPLE) * MULTIPLE
    order = np.argsort(width, kind="stable")
    return [group_of(batch, order[begin:end], int(width[order[end - 1]])) for begin, end in cut(width[order], groups)]


def cut(widths: NDArray[np.int32], groups: int) -> list[tuple[int, int]]:
    """Rows of ascending widths in groups of the fewest slots: the best first groups up to each width, one more at a
    time."""
    values, ends = np.unique(widths, return_index=True)
    ends = np.append(ends[1:], len(widths))
    begins = np.append(0, ends[:-1])
    slots = np.where(np.tri(len(values), dtype=bool).T, (ends - begins[:, None]) * values, np.inf)  # first, last width
    best, ways = slots[0], [np.zeros(len(values), int)]
    for _ in range(min(groups, len(values)) - 1):
        several = np.append(np.inf, best[:-1])[:, None] + slots
        ways.append(several.argmin(axis=0))
        best = several.min(axis=0)
    found, last = [], len(values) - 1
    for way in reversed(ways):
        found.append((int(begins[way[last]]), int(ends[last])))
        last = int(way[last]) - 1
    return found[::-1]


def group_of(batch: PackedBatch, rows: NDArray[np.intp], width: int) -> PaddedBatch:
    streams = {name: laid(stream, rows, width) for name, stream in batch.streams.items()}
    n_tokens = {name: int(stream.lengths.sum()) for name, stream in streams.items()}
    return Batch(batch.index, batch.pairs[rows], streams, n_tokens)


def laid(stream: PackedStream[Tokens], rows: NDArray[np.intp], width: int) -> PaddedStream[Tokens]:
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
