"""Packed batches: sentences concatenated into a fixed number of slots, so every batch has the same shape."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice, pairwise
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hark.config import BatchConfig
from hark.data.packing import Capacity, balance, pack
from hark.data.pool import Corpus
from hark.data.store import Side, TokenStore
from hark.data.strata import Draw, derive, draw, n_strata, pass_length, permute
from hark.data.stream import Batch, PackedStream, PairBatches, Tokens
from hark.text.vocabulary import SideIds, SpecialIds

# Batches planned together; pairs move only within such a group. Larger groups fill better but make seeking slower.
GROUP = 64
# Spare slots on the side with fewer tokens: the ratio of a group differs slightly from that of the corpus.
MARGIN = 1.004
# Groups packed to test a round length before it is used, and the slack kept for variation between groups, in standard
# deviations of the tokens per group.
TRIALS = 16
SAFETY = 4.0


PackedBatch = Batch[PackedStream[Tokens]]


class BatchShape(NamedTuple):
    """The shape of every batch: slots of each side, and entries for sentences, real and dummy."""

    slots: tuple[int, ...]
    sentences: int


@dataclass(frozen=True)
class Groups:
    """A round (one pass over the corpora of least weight) of `round` batches, cut into groups of nearly equal size."""

    round: int

    @property
    def count(self) -> int:
        return -(-self.round // GROUP)

    def find(self, batch: int) -> tuple[int, int]:
        """Return the round of a batch in the stream, and its group within the round."""
        number, position = divmod(batch, self.round)
        return number, ((position + 1) * self.count - 1) // self.round

    def bounds(self, number: int, group: int) -> tuple[int, int]:
        """Return the first batch of a group, and the first after it."""
        first, end = (number * self.round + g * self.round // self.count for g in (group, group + 1))
        return first, end


@dataclass(frozen=True)
class PackingPlan:
    """A planned group of batches: the pairs drawn for it, and which cells of the draw each batch holds."""

    first: int
    drawn: Draw
    cells: list[NDArray[np.intp]]
    n_skipped: int


class PackedBatches(PairBatches[PackedStream[Tokens]]):
    """Packed batches of several corpora, mixed by weight within each batch."""

    def __init__(
        self, corpora: Sequence[Corpus], config: BatchConfig, special: SpecialIds, source: SideIds | None = None
    ) -> None:
        super().__init__(corpora, config, special, source)
        # Only the ratio of weights matters. With the least scaled to 1, the longest pass is a round.
        least = min(pool.weight for pool in self.pools)
        self.pools = [replace(pool, weight=pool.weight / least) for pool in self.pools]
        slots = self._share_slots()
        self.groups, self.capacity = self._choose_round(slots)
        self.batches_per_epoch = pass_length(1 / least, self.groups.round)
        self.fill = tuple(self._load(side, self.groups.round) / n for side, n in enumerate(slots))
        self._plan = lru_cache(maxsize=2)(self._make_plan)

    @property
    def shape(self) -> BatchShape:
        slots, pairs = self.capacity
        return BatchShape(slots, pairs + -(-max(slots) // self.config.max_length))

    def __getitem__(self, index: int) -> PackedBatch:
        if index < 0:
            raise IndexError(f"batch {index}: the stream starts at 0")
        plan = self._plan(*self.groups.find(index))
        cells = plan.cells[index - plan.first]
        stratum, column = np.divmod(cells, plan.drawn.rows.shape[1])
        corpus = plan.drawn.corpus[stratum]
        pairs = np.stack([corpus, plan.drawn.rows[stratum, column], plan.drawn.passes[corpus, column]], axis=1)
        return self._assemble(index, pairs, plan.n_skipped if index == plan.first else 0)

    def worst_case(self) -> PackedBatch:
        """Return a batch with every slot filled by sentences of maximum length."""
        slots: dict[str, int] = dict(zip(self.sides, self.capacity.slots, strict=True))
        longest = self.config.max_length
        count = max(-(-n_slots // longest) for n_slots in slots.values())
        streams: dict[str, PackedStream[Tokens]] = {}
        for side, n_slots in zip(self.sides, self.capacity.slots, strict=True):
            tokens = np.full(n_slots, self.filler(side), np.int32)
            cu = np.full(self.shape.sentences + 1, n_slots, np.int32)
            cu[: count + 1] = np.arange(count + 1) * n_slots // count
            labels = tokens.copy() if side == "target" else None
            streams[side] = PackedStream(tokens, number_slots(cu, n_slots), cu, labels)
        return Batch(-1, np.full((count, 3), -1, np.int64), streams, slots)

    def _assemble(self, index: int, pairs: NDArray[np.int64], n_skipped: int) -> PackedBatch:
        pairs, pieces = self._by_store(pairs)
        streams: dict[str, PackedStream[Tokens]] = {}
        n_tokens: dict[str, int] = {}
        for side, slots in zip(self.sides, self.capacity.slots, strict=True):
            tokens, cu, n_tokens[side] = self._concatenate(pieces, side, slots)
            inputs = self._shift(tokens, cu[: len(pairs)], n_tokens[side]) if side == "target" else tokens
            labels = tokens if side == "target" else None
            streams[side] = PackedStream(inputs, number_slots(cu, len(tokens)), cu, labels)
        return Batch(index, pairs, streams, n_tokens, n_skipped=n_skipped)

    def _shift(self, tokens: Tokens, starts: Tokens, count: int) -> Tokens:
        """Shift right: y1 .. yn EOS becomes BOS y1 .. yn."""
        shifted = np.empty_like(tokens)
        shifted[1:] = tokens[:-1]
        shifted[count:] = self.special.pad
        shifted[starts] = self.special.start
        return shifted

    def _by_store(
        self, pairs: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], list[tuple[TokenStore, NDArray[np.int64]]]]:
        """Return the pairs grouped by store, and each store with its rows to read."""
        corpus, number_of_pass = pairs[:, 0], pairs[:, 2]
        variants = np.array([len(pool.variants) for pool in self.pools])
        key = corpus * variants.max() + number_of_pass % variants[corpus]
        order = np.argsort(key, kind="stable")
        pairs = pairs[order]
        bounds = [0, *(np.flatnonzero(np.diff(key[order])) + 1).tolist(), len(pairs)]
        rows, first = pairs[:, 1], pairs[bounds[:-1] if len(pairs) else []]
        stores = [self.pools[corpus].store(number_of_pass) for corpus, _, number_of_pass in first.tolist()]
        return pairs, [(store, rows[start:end]) for store, (start, end) in zip(stores, pairwise(bounds), strict=False)]

    def _concatenate(
        self, pieces: list[tuple[TokenStore, NDArray[np.int64]]], side: Side, slots: int
    ) -> tuple[Tokens, Tokens, int]:
        """Return one side's tokens, with EOS after each sentence if the side has it, cumulative lengths, and the number
        of real tokens."""
        ids = self.sides[side]
        tokens = np.full(slots, ids.pad, np.int32)
        cu = np.full(self.shape.sentences + 1, slots, np.int32)
        lengths: list[int] = []
        at = 0
        for store, rows in pieces:
            written = store.write(rows, side, tokens[at:], ids.end)
            lengths += written
            at += sum(written)
        done = len(lengths)
        cu[: done + 1] = np.cumsum([0, *lengths])
        dummies = np.arange(at + self.config.max_length, slots, self.config.max_length)
        cu[done + 1 : done + 1 + len(dummies)] = dummies
        return tokens, cu, at

    def _make_plan(self, number: int, group: int) -> PackingPlan:
        return self._fit(self._draw(self.groups, number, group), self.groups.bounds(number, group)[0], self.capacity)

    def _draw(self, groups: Groups, number: int, group: int) -> Draw:
        first, end = groups.bounds(number, group)
        return draw(self.pools, groups.round, self.config.seed, first, end - first)

    def _fit(self, drawn: Draw, first: int, capacity: Capacity) -> PackingPlan:
        """Fit the drawn pairs into batches: by a few swaps if possible, otherwise by repacking the group."""
        columns = balance(drawn.lengths, capacity)
        n_columns = drawn.rows.shape[1]
        if columns is not None:
            taken = (columns >= 0) & (drawn.rows.flat[columns] >= 0)
            return PackingPlan(first, drawn, fill_empty([columns[taken[:, b], b] for b in range(n_columns)]), 0)
        real, bins = repack(drawn, capacity)
        # Emptier bins come last; shuffle them.
        bins[bins >= 0] = permute(bins[bins >= 0], n_columns, derive(self.config.seed, first))
        return PackingPlan(first, drawn, fill_empty([real[bins == b] for b in range(n_columns)]), int((bins < 0).sum()))

    def _load(self, side: int, length: int) -> float:
        """Return the mean number of tokens of one side per batch in a round of `length` batches."""
        return sum(pool.total(side) / pass_length(pool.weight, length) for pool in self.pools)

    def _share_slots(self) -> tuple[int, ...]:
        """Return the slots per side: `batch_tokens` for the side with more tokens, in proportion for the other."""
        weighted = [sum(pool.weight * pool.total(side) for pool in self.pools) for side in range(len(self.sides))]
        slots = []
        for side, tokens in enumerate(weighted):
            share = MARGIN * self.config.batch_tokens * tokens / max(weighted)
            share = max(8 * -(-share // 8), max(pool.longest[side] for pool in self.pools))
            slots.append(min(self.config.batch_tokens, int(share)))
        return tuple(slots)

    def _choose_round(self, slots: tuple[int, ...]) -> tuple[Groups, Capacity]:
        """Return the smallest number of batches per round that reliably holds all pairs."""
        bound = Groups(next(self._rounds(slots)))
        # The tokens of a group vary between rounds; reserve room for that.
        loads = np.array([drawn.lengths.mean((1, 2)) for drawn in self._trials(bound)])
        keep = 1 - SAFETY * loads.std(0) / loads.mean(0)
        longest = (max(of_side) for of_side in zip(*(pool.longest for pool in self.pools), strict=True))
        tight = tuple(max(int(n * k), least) for n, k, least in zip(slots, keep, longest, strict=True))
        for length in self._rounds(tight):
            strata = sum(n_strata(pool, length) for pool in self.pools)
            # Repacked batches have different numbers of pairs; spare sentence entries cost almost nothing.
            pairs = 8 * -(-(strata + strata // 4 + 32) // 8)
            groups, capacity = Groups(length), Capacity(slots, pairs)
            if self._works(groups, capacity, Capacity(tight, pairs)):
                return groups, capacity
        raise AssertionError("one pair per batch always fits")

    def _rounds(self, slots: tuple[int, ...]) -> Iterator[int]:
        """Yield round lengths to try: from the lower bound given by the token totals, in growing steps."""
        length, step = 1, 0.001
        while (excess := max(self._load(side, length) / n for side, n in enumerate(slots))) > 1:
            length = max(length + 1, int(length * excess))
        while True:
            yield length
            length = max(length + 1, int(length * (1 + step)))
            step *= 1.2

    def _trials(self, groups: Groups) -> Iterator[Draw]:
        """Yield sample groups from different rounds."""
        for number in range(TRIALS):
            yield self._draw(groups, number, int(derive(number, 0) % np.uint64(groups.count)))

    def _works(self, groups: Groups, capacity: Capacity, tight: Capacity) -> bool:
        """Whether rounds of this length can be packed: proven for a single group with equal weights, else tested."""
        if groups.count > 1:
            return all(balance(drawn.lengths, tight) is not None for drawn in self._trials(groups))
        if all(pass_length(pool.weight, groups.round) == groups.round for pool in self.pools):
            # Each round holds the same lengths, and repacking depends on nothing else.
            cycle = min(TRIALS, lcm(*(len(pool.variants) for pool in self.pools)))
            return all((repack(drawn, capacity)[1] >= 0).all() for drawn in islice(self._trials(groups), cycle))
        return all(self._fit(drawn, 0, tight).n_skipped == 0 for drawn in self._trials(groups))


def repack(drawn: Draw, capacity: Capacity) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Repack a group: return the cells that hold a pair, and the batch of each, or -1."""
    real = np.flatnonzero(drawn.rows >= 0)
    return real, pack(drawn.lengths.reshape(len(drawn.lengths), -1)[:, real], drawn.rows.shape[1], capacity)


def fill_empty(batches: list[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    """Move a pair from the largest batch into each empty one: a training step needs at least one pair."""
    sizes = [len(batch) for batch in batches]
    while min(sizes) == 0 and max(sizes) > 1:
        largest, empty = sizes.index(max(sizes)), sizes.index(0)
        batches[largest], batches[empty] = batches[largest][:-1], batches[largest][-1:]
        sizes[largest], sizes[empty] = sizes[largest] - 1, 1
    return batches


def number_slots(cu: Tokens, slots: int) -> Tokens:
    """Return the position of each slot in its sentence: 0, 1, 2 .."""
    return np.arange(slots, dtype=np.int32) - np.repeat(cu[:-1], np.diff(cu))
