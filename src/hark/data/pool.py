"""Pools of training pairs for batching: the pairs of a corpus that fit `max_length`, and their lengths.

Text of one side is a pair with one side. The first axis of lengths is the side.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hark.data.store import Side, TokenStore
from hark.errors import UserError
from hark.facts import LanguagePair

Rows = NDArray[np.int64]
Lengths = NDArray[np.int32]
"""Of one side, or with the sides as first axis."""


class Corpus(NamedTuple):
    """A training corpus: `weight` is the number of passes over it per pass over a corpus of weight 1.

    With BPE-dropout, `variants` holds the same pairs in several segmentations; each pass uses the next one.
    """

    name: str
    weight: float
    variants: Sequence[TokenStore]
    direction: LanguagePair | None = None
    """Its languages, in a many-to-many dataset."""


@dataclass(frozen=True, eq=False)
class Pool:
    """The eligible pairs of one corpus. All lengths include EOS, so they are slots in a batch.

    If a side has no EOS (`SideIds.end`), its sentences leave this slot empty.
    """

    name: str
    weight: float
    variants: Sequence[TokenStore]
    rows: NDArray[np.uint32]  # pairs of at most max_length tokens on each side in every segmentation
    totals: tuple[tuple[int, ...], ...]  # tokens of these pairs, per variant and side
    longest: tuple[int, ...]  # of each side
    checksum: int  # of all lengths: a cheap identity for the corpus
    direction: LanguagePair | None = None
    _orders: dict[int, NDArray[np.uint32]] = field(default_factory=dict)

    @classmethod
    def of(cls, corpus: Corpus, max_length: int) -> "Pool":
        name, weight, variants, direction = corpus
        if len({len(store) for store in variants}) != 1:
            raise UserError(f"corpus {name}: segmentations have different numbers of pairs; prepare it again")
        fits = np.ones(len(variants[0]), bool)
        checksum = 0
        for store in variants:
            for side in store.sides:
                lengths = store.lengths(side)
                fits &= lengths < max_length
                checksum = zlib.crc32(lengths.data, checksum)
        rows = np.flatnonzero(fits).astype(np.uint32)
        slots = [slot_lengths(store, rows) for store in variants]
        totals = tuple(tuple(of_store.sum(1, dtype=np.int64).tolist()) for of_store in slots)
        longest = tuple(np.max([of_store.max(1, initial=0) for of_store in slots], axis=0).tolist())
        return cls(name, weight, variants, rows, totals, longest, checksum, direction)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def n_excluded(self) -> int:
        return len(self.variants[0]) - len(self.rows)

    @property
    def sides(self) -> tuple[Side, ...]:
        return self.variants[0].sides

    def total(self, side: int) -> int:
        """Return the number of tokens of a side in the longest segmentation."""
        return max(totals[side] for totals in self.totals)

    def store(self, number_of_pass: int) -> TokenStore:
        """Return the segmentation that a pass uses."""
        return self.variants[number_of_pass % len(self.variants)]

    def longest_first(self, number_of_pass: int) -> NDArray[np.uint32]:
        """Return the pairs by decreasing total length; ties keep corpus order."""
        variant = number_of_pass % len(self.variants)
        if variant not in self._orders:
            store = self.variants[variant]
            size = slot_lengths(store, self.rows).sum(0, dtype=np.int32)
            self._orders[variant] = self.rows[stable_order(size.max(initial=0) - size)]
        return self._orders[variant]


def slot_lengths(store: TokenStore, rows: NDArray[np.integer]) -> Lengths:
    """Return the slots that sentences take, EOS included, by side."""
    return np.stack([store.lengths(side, rows) for side in store.sides]) + np.int32(1)


def apply_temperature(pools: Sequence[Pool], temperature: float) -> list[Pool]:
    """Change the weights so that a direction is sampled in proportion to (its weighted pairs)^(1 / temperature).

    Within a direction, the corpora keep their proportions. The weights of the largest direction do not change.
    """
    if temperature == 1.0:
        return list(pools)
    sizes: dict[LanguagePair | None, float] = {}
    for pool in pools:
        sizes[pool.direction] = sizes.get(pool.direction, 0.0) + pool.weight * len(pool)
    largest = max(sizes.values())
    return [
        replace(pool, weight=pool.weight * (largest / sizes[pool.direction]) ** (1 - 1 / temperature))
        if sizes[pool.direction]
        else pool
        for pool in pools
    ]


def stable_order(keys: Lengths) -> NDArray[np.intp]:
    """Return a stable argsort of small non-negative integers; numpy radix-sorts 16 bits in linear time."""
    return np.argsort(keys.astype(np.min_scalar_type(int(keys.max(initial=0)))), kind="stable")
