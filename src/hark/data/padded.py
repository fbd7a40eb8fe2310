"""Padded batches: rows of similar length, padded to the longest. The classic layout, kept for comparison."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hark.config import BatchConfig
from hark.data.pool import Corpus, Lengths, Pool, slot_lengths, stable_order
from hark.data.store import Side, TokenStore
from hark.data.strata import derive, permute
from hark.data.stream import Batch, PaddedStream, PairBatches, Tokens
from hark.text.vocabulary import SideIds, SpecialIds

PaddedBatch = Batch[PaddedStream[Tokens]]


@dataclass(frozen=True, eq=False)
class LengthBuckets:
    """The pairs of a corpus, sorted by the lengths of their sides, cut into fixed batches."""

    pool: Pool
    rows: NDArray[np.uint32]
    cuts: NDArray[np.int64]  # batch k holds the sorted pairs from cuts[k] to cuts[k + 1]
    runs: NDArray[np.int64]  # start of each run of pairs of equal lengths, and the end; each pass shuffles within runs
    widths: NDArray[np.int32]  # (batches, sides): the longest sentence of each side in each batch

    @classmethod
    def of(cls, pool: Pool, batch_tokens: int) -> "LengthBuckets":
        # All segmentations share one plan, based on the longest segmentation of each pair.
        lengths = np.maximum.reduce([slot_lengths(store, pool.rows) for store in pool.variants])
        order = np.arange(len(pool))
        for side in lengths[::-1]:
            order = order[stable_order(side[order])]
        lengths = lengths[:, order]
        cuts = cut(lengths, batch_tokens)
        changes = np.flatnonzero((np.diff(lengths) != 0).any(0)) + 1
        runs = np.concatenate([[0], changes, [len(order)]])
        widths = np.maximum.reduceat(lengths, cuts[:-1], axis=1).T
        return cls(pool, pool.rows[order], cuts, runs, widths)

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def take(self, batch: int, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the pairs of a batch in the pass identified by `key`."""
        positions = np.arange(self.cuts[batch], self.cuts[batch + 1])
        run = np.searchsorted(self.runs, positions, side="right") - 1
        begin = self.runs[run]
        size = self.runs[run + 1] - begin
        rows: NDArray[np.int64] = self.rows[begin + permute(positions - begin, size, derive(key, run))].astype(np.int64)
        return rows


class PaddedBatches(PairBatches[PaddedStream[Tokens]]):
    """Padded batches of one corpus each; an epoch shuffles the batches of all corpora, in proportion to weight."""

    def __init__(
        self, corpora: Sequence[Corpus], config: BatchConfig, special: SpecialIds, source: SideIds | None = None
    ) -> None:
        super().__init__(corpora, config, special, source)
        self.buckets = {
            c: LengthBuckets.of(pool, config.batch_tokens) for c, pool in enumerate(self.pools) if len(pool)
        }
        # Batches per epoch of each corpus.
        self._counts = [max(1, int(bucketed.pool.weight * len(bucketed) + 0.5)) for bucketed in self.buckets.values()]
        self.batches_per_epoch = sum(self._counts)
        slots, tokens = np.zeros(len(self.sides)), np.zeros(len(self.sides))
        for bucketed, count in zip(self.buckets.values(), self._counts, strict=True):
            share = count / len(bucketed)
            slots += share * (np.diff(bucketed.cuts)[:, None] * bucketed.widths).sum(0)
            tokens += share * np.mean(bucketed.pool.totals, axis=0)
        self.fill = tuple((tokens / slots).tolist())

    def __getitem__(self, index: int) -> PaddedBatch:
        if index < 0:
            raise IndexError(f"batch {index}: the stream starts at 0")
        epoch, position = divmod(index, self.batches_per_epoch)
        seed = derive(self.config.seed, len(self.pools))
        position = int(permute(position, self.batches_per_epoch, derive(seed, epoch)))
        for (corpus, bucketed), count in zip(self.buckets.items(), self._counts, strict=True):
            if position < count:
                return self._make_batch(index, corpus, bucketed, epoch * count + position)
            position -= count
        raise AssertionError("an epoch is the sum of its corpora")

    def _make_batch(self, index: int, corpus: int, bucketed: LengthBuckets, number: int) -> PaddedBatch:
        """Return batch `number` of the endless stream of one corpus."""
        number_of_pass, position = divmod(number, len(bucketed))
        key = derive(derive(self.config.seed, corpus), number_of_pass)
        rows = bucketed.take(int(permute(position, len(bucketed), key)), derive(key, 0))
        pairs = np.stack([np.full_like(rows, corpus), rows, np.full_like(rows, number_of_pass)], axis=1)
        store = bucketed.pool.store(number_of_pass)
        streams: dict[str, PaddedStream[Tokens]] = {
            side: self._stream(side, *self._pad_rows(store, rows, side)) for side in self.sides
        }
        return Batch(index, pairs, streams, {name: int(stream.lengths.sum()) for name, stream in streams.items()})

    def worst_case(self) -> PaddedBatch:
        """Return a full batch of the largest shape: the most slots, then the longest rows."""
        _, _, n, widths = max(
            (int(n * widths.sum()), int(widths.sum()), int(n), tuple(widths.tolist()))
            for bucketed in self.buckets.values()
            for n, widths in zip(np.diff(bucketed.cuts), bucketed.widths, strict=True)
        )
        streams: dict[str, PaddedStream[Tokens]] = {
            side: self._stream(side, np.full((n, width), self.filler(side), np.int32), np.full(n, width, np.int32))
            for side, width in zip(self.sides, widths, strict=True)
        }
        n_tokens: dict[str, int] = {side: n * width for side, width in zip(self.sides, widths, strict=True)}
        return Batch(-1, np.full((n, 3), -1, np.int64), streams, n_tokens)

    def _stream(self, side: Side, tokens: Tokens, lengths: Tokens) -> PaddedStream[Tokens]:
        """The stream of a side: the target is shifted, and has labels."""
        if side == "target":
            return PaddedStream(self._shift(tokens, lengths), lengths, labels=tokens)
        return PaddedStream(tokens, lengths)

    def _pad_rows(self, store: TokenStore, rows: NDArray[np.int64], side: Side) -> tuple[Tokens, Tokens]:
        ids = self.sides[side]
        flat, lengths = store.gather(rows, side, end=ids.end)
        # At least one column: without EOS, all sentences of a batch may be empty.
        tokens = np.full((len(rows), max(1, lengths.max())), ids.pad, np.int32)
        tokens[np.arange(tokens.shape[1]) < lengths[:, None]] = flat
        return tokens, lengths

    def _shift(self, target: Tokens, lengths: Tokens) -> Tokens:
        """Shift right: y1 .. yn EOS becomes BOS y1 .. yn."""
        shifted = np.full_like(target, self.special.pad)
        shifted[:, 0] = self.special.start
        inside = np.arange(1, target.shape[1]) < lengths[:, None]
        shifted[:, 1:][inside] = target[:, :-1][inside]
        return shifted


def cut(lengths: Lengths, batch_tokens: int) -> NDArray[np.int64]:
    """Cut pairs in ascending length of their first side into batches of at most `batch_tokens` slots per side,
    including padding."""
    cuts = [0]
    while (at := cuts[-1]) < lengths.shape[1]:
        end = at + batch_tokens // int(lengths[0, at])
        width = np.maximum.accumulate(lengths[:, at:end], axis=1).max(0)
        slots = width.astype(np.int64) * np.arange(1, len(width) + 1)
        cuts.append(at + int(np.searchsorted(slots, batch_tokens, side="right")))
    return np.array(cuts)
