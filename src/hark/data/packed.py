"""Packed batches: sentences end to end in a fixed number of slots, so that every batch has the same shape."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hark.config import BatchConfig
from hark.data.packing import Capacity, balance, pack
from hark.data.permutation import derive, permute
from hark.data.pool import Corpus
from hark.data.store import SIDES, Side, TokenStore
from hark.data.strata import Draw, draw, n_strata, pass_length
from hark.data.stream import Batch, Batches
from hark.data.token_streams import PackedStream, Tokens
from hark.text.vocabulary import SpecialIds

# Batches that are planned together: pairs move only within such a group. More fill better and make seeking slower.
GROUP = 64
# Room on the side with fewer tokens beyond its share: a group's share differs a little from the corpus's.
MARGIN = 1.004
# Groups on which the length of a round is tried before it is trusted, and the standard deviations of a group's tokens
# for which room is kept.
TRIALS = 16
SAFETY = 4.0


PackedBatch = Batch[PackedStream[Tokens]]


class BatchShape(NamedTuple):
    """The shape that all batches share: Ns source slots, Nt target slots, entries for C sentences, real and dummy."""

    source: int
    target: int
    sentences: int


@dataclass(frozen=True)
class Groups:
    """A round (a pass over the corpora of least weight) of so many batches, cut into groups of nearly equal size."""

    round: int

    @property
    def count(self) -> int:
        return -(-self.round // GROUP)

    def find(self, batch: int) -> tuple[int, int]:
        """The number of the round, and of the group in it, to which a batch of the stream belongs."""
        number, place = divmod(batch, self.round)
        return number, ((place + 1) * self.count - 1) // self.round

    def bounds(self, number: int, group: int) -> tuple[int, int]:
        """The first batch of a group, and the first after it."""
        first, end = (number * self.round + g * self.round // self.count for g in (group, group + 1))
        return first, end


@dataclass(frozen=True)
class PackingPlan:
    """A group of batches: what was drawn for all of them, and which of its cells each batch holds."""

    first: int
    drawn: Draw
    cells: list[NDArray[np.intp]]
    n_skipped: int


class PackedBatches(Batches[PackedStream[Tokens]]):
    """Packed batches of several corpora, mixed by weight within each batch."""

    def __init__(self, corpora: Sequence[Corpus], config: BatchConfig, special: SpecialIds) -> None:
        super().__init__(corpora, config, special)
        # Only the ratio of weights shapes the stream. With the least as 1, the longest pass is a round.
        least = min(pool.weight for pool in self.pools)
        self.pools = [replace(pool, weight=pool.weight / least) for pool in self.pools]
        slots = self._share_slots()
        self.groups, self.capacity = self._choose_round(slots)
        self.batches_per_epoch = pass_length(1 / least, self.groups.round)
        source, target = (self._load(side, self.groups.round) for side in SIDES)
        self.fill = (source / slots[0], target / slots[1])
        self._plan = lru_cache(maxsize=2)(self._make_plan)

    @property
    def shape(self) -> BatchShape:
        source, target, pairs = self.capacity
        return BatchShape(source, target, pairs + -(-max(source, target) // self.config.max_length))

    def __getitem__(self, index: int) -> PackedBatch:
        if index < 0:
            raise IndexError(f"batch {index}: the stream begins at 0")
        plan = self._plan(*self.groups.find(index))
        cells = plan.cells[index - plan.first]
        stratum, column = np.divmod(cells, plan.drawn.rows.shape[1])
        corpus = plan.drawn.corpus[stratum]
        pairs = np.stack([corpus, plan.drawn.rows[stratum, column], plan.drawn.passes[corpus, column]], axis=1)
        return self._assemble(index, pairs, plan.n_skipped if index == plan.first else 0)

    def worst_case(self) -> PackedBatch:
        """Every slot taken, by sentences as long as they come."""
        slots, longest = self.capacity[:2], self.config.max_length
        count = max(-(-each // longest) for each in slots)
        streams: dict[str, PackedStream[Tokens]] = {}
        for side, n_slots in zip(SIDES, slots, strict=True):
            tokens = np.full(n_slots, self.special.end, np.int32)
            cu = np.full(self.shape.sentences + 1, n_slots, np.int32)
            cu[: count + 1] = np.arange(count + 1) * n_slots // count
            labels = tokens.copy() if side == "target" else None
            streams[side] = PackedStream(tokens, number_slots(cu, n_slots), cu, labels)
        return Batch(-1, np.full((count, 3), -1, np.int64), streams, {"source": slots[0], "target": slots[1]})

    def _assemble(self, index: int, pairs: NDArray[np.int64], n_skipped: int) -> PackedBatch:
        pairs, pieces = self._by_store(pairs)
        source, source_cu, n_source = self._lay(pieces, "source", self.capacity.source)
        target, target_cu, n_target = self._lay(pieces, "target", self.capacity.target)
        shifted = np.empty_like(target)
        shifted[1:] = target[:-1]
        shifted[n_target:] = self.special.pad
        shifted[target_cu[: len(pairs)]] = self.special.start
        streams = {
            "source": PackedStream(source, number_slots(source_cu, len(source)), source_cu),
            "target": PackedStream(shifted, number_slots(target_cu, len(target)), target_cu, labels=target),
        }
        return Batch(index, pairs, streams, {"source": n_source, "target": n_target}, n_skipped)

    def _by_store(
        self, pairs: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], list[tuple[TokenStore, NDArray[np.int64]]]]:
        """The pairs with those of each store together, and the stores with the rows that are wanted of them."""
        corpus, number_of_pass = pairs[:, 0], pairs[:, 2]
        variants = np.array([len(pool.variants) for pool in self.pools])
        key = corpus * variants.max() + number_of_pass % variants[corpus]
        order = np.argsort(key, kind="stable")
        pairs = pairs[order]
        runs = np.split(pairs, np.flatnonzero(np.diff(key[order])) + 1) if len(pairs) else []
        return pairs, [(self.pools[run[0, 0]].store(run[0, 2]), run[:, 1]) for run in runs]

    def _lay(
        self, pieces: list[tuple[TokenStore, NDArray[np.int64]]], side: Side, slots: int
    ) -> tuple[Tokens, Tokens, int]:
        """One side's tokens with EOS after each sentence, the cumulative lengths, and the number of real tokens."""
        tokens = np.full(slots, self.special.pad, np.int32)
        cu = np.full(self.shape.sentences + 1, slots, np.int32)
        cu[0] = at = done = 0
        for store, rows in pieces:
            flat, lengths = store.gather(rows, side, end=self.special.end)
            tokens[at : at + len(flat)] = flat
            cu[done + 1 : done + 1 + len(rows)] = at + np.cumsum(lengths)
            at, done = at + len(flat), done + len(rows)
        dummies = np.arange(at + self.config.max_length, slots, self.config.max_length)
        cu[done + 1 : done + 1 + len(dummies)] = dummies
        return tokens, cu, at

    def _make_plan(self, number: int, group: int) -> PackingPlan:
        return self._fit(self._draw(self.groups, number, group), self.groups.bounds(number, group)[0], self.capacity)

    def _draw(self, groups: Groups, number: int, group: int) -> Draw:
        first, end = groups.bounds(number, group)
        return draw(self.pools, groups.round, self.config.seed, first, end - first)

    def _fit(self, drawn: Draw, first: int, capacity: Capacity) -> PackingPlan:
        """Make the drawn pairs fit: by a few swaps, else by packing the group anew."""
        columns = balance(drawn.source, drawn.target, capacity)
        n_columns = drawn.rows.shape[1]
        if columns is not None:
            taken = (columns >= 0) & (drawn.rows.flat[columns] >= 0)
            return PackingPlan(first, drawn, none_empty([columns[taken[:, b], b] for b in range(n_columns)]), 0)
        real, bins = repack(drawn, capacity)
        # The emptier bins come last: shuffle them.
        bins[bins >= 0] = permute(bins[bins >= 0], n_columns, derive(self.config.seed, first))
        return PackingPlan(first, drawn, none_empty([real[bins == b] for b in range(n_columns)]), int((bins < 0).sum()))

    def _load(self, side: Side, length: int) -> float:
        """Tokens of one side in a batch, on average, where a round has so many batches."""
        return sum(pool.total(side) / pass_length(pool.weight, length) for pool in self.pools)

    def _share_slots(self) -> tuple[int, int]:
        """`batch_tokens` slots for the side with more tokens, and in proportion for the other."""
        weighted = [sum(pool.weight * pool.total(side) for pool in self.pools) for side in SIDES]
        slots = []
        for side, tokens in enumerate(weighted):
            share = MARGIN * self.config.batch_tokens * tokens / max(weighted)
            share = max(8 * -(-share // 8), max(pool.longest[side] for pool in self.pools))
            slots.append(min(self.config.batch_tokens, int(share)))
        return slots[0], slots[1]

    def _choose_round(self, slots: tuple[int, int]) -> tuple[Groups, Capacity]:
        """The fewest batches in a round into which its pairs can be packed, again and again."""
        bound = Groups(next(self._rounds(slots)))
        # In one round a group has more tokens than in another: keep room for that.
        loads = np.array([[drawn.source.mean(), drawn.target.mean()] for drawn in self._trials(bound)])
        keep = 1 - SAFETY * loads.std(0) / loads.mean(0)
        longest = (max(pool.longest[side] for pool in self.pools) for side in range(2))
        source, target = (max(int(n * k), least) for n, k, least in zip(slots, keep, longest, strict=True))
        for length in self._rounds((source, target)):
            strata = sum(n_strata(pool, length) for pool in self.pools)
            # Packing anew gives batches of unequal numbers of pairs; entries for sentences cost next to nothing.
            pairs = 8 * -(-(strata + strata // 4 + 32) // 8)
            groups, capacity = Groups(length), Capacity(*slots, pairs)
            if self._works(groups, capacity, Capacity(source, target, pairs)):
                return groups, capacity
        raise AssertionError("one pair to a batch always fits")

    def _rounds(self, slots: tuple[int, int]) -> Iterator[int]:
        """Lengths of a round to try: from the bound that the totals set, in growing steps."""
        length, step = 1, 0.001
        while (excess := max(self._load(side, length) / n for side, n in zip(SIDES, slots, strict=True))) > 1:
            length = max(length + 1, int(length * excess))
        while True:
            yield length
            length = max(length + 1, int(length * (1 + step)))
            step *= 1.2

    def _trials(self, groups: Groups) -> Iterator[Draw]:
        """Some groups of different rounds."""
        for number in range(TRIALS):
            yield self._draw(groups, number, int(derive(number, 0) % np.uint64(groups.count)))

    def _works(self, groups: Groups, capacity: Capacity, tight: Capacity) -> bool:
        """Whether a round can be packed: proof where one group holds it and weights are equal, else a strong sign."""
        if groups.count > 1:
            return all(balance(drawn.source, drawn.target, tight) is not None for drawn in self._trials(groups))
        if all(pass_length(pool.weight, groups.round) == groups.round for pool in self.pools):
            # Each round holds the same lengths, and packing anew depends on nothing else.
            cycle = min(TRIALS, lcm(*(len(pool.variants) for pool in self.pools)))
            return all((repack(drawn, capacity)[1] >= 0).all() for drawn in islice(self._trials(groups), cycle))
        return all(self._fit(drawn, 0, tight).n_skipped == 0 for drawn in self._trials(groups))


def repack(drawn: Draw, capacity: Capacity) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pack a group anew: the cells that hold a pair, and the batch that each goes to, or -1."""
    real = np.flatnonzero(drawn.rows >= 0)
    return real, pack(drawn.source.flat[real], drawn.target.flat[real], drawn.rows.shape[1], capacity)


def none_empty(batches: list[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    """Give each empty batch a pair of the batch with the most: a step of training needs something to learn from."""
    sizes = [len(batch) for batch in batches]
    while min(sizes) == 0 and max(sizes) > 1:
        rich, poor = sizes.index(max(sizes)), sizes.index(0)
        batches[rich], batches[poor] = batches[rich][:-1], batches[rich][-1:]
        sizes[rich], sizes[poor] = sizes[rich] - 1, 1
    return batches


def number_slots(cu: Tokens, slots: int) -> Tokens:
    """0, 1, 2 .. within each sentence."""
    return np.arange(slots, dtype=np.int32) - np.repeat(cu[:-1], np.diff(cu))
