"""Stratified sampling of pairs for batches, computed directly for any batch.

The pairs of a corpus, sorted by length once, are cut into strata with as many pairs as a pass has batches. In each pass
every stratum has its own permutation, and batch b takes the b-th pair of each. So all batches have nearly the same mix
of lengths, and every pair occurs exactly once per pass. A pass needs no preparation: a permutation is a function of a
key, computed at single points, unlike a shuffled list.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hark.data.pool import Lengths, Pool, slot_lengths

_ROUNDS = 4
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def derive(key: ArrayLike, number: ArrayLike) -> NDArray[np.uint64]:
    """Derive a new key from a key and a number (the finaliser of splitmix64); arrays broadcast."""
    with np.errstate(over="ignore"):
        x = np.asarray(key, np.uint64) + _GOLDEN * (np.asarray(number, np.uint64) + np.uint64(1))
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))


def permute(x: ArrayLike, size: ArrayLike, key: ArrayLike) -> NDArray[np.int64]:
    """Apply the permutation of 0 .. size-1 selected by `key` to `x`; arrays broadcast.

    Multiplying by an odd number, adding, and folding high bits onto low ones are each invertible on a fixed number of
    bits, so their composition is too. A value outside the range is mapped again until it is inside (cycle walking),
    which keeps the map a bijection.
    """
    shape = np.broadcast_shapes(np.shape(x), np.shape(size), np.shape(key))
    size = np.asarray(size, np.uint64)
    # The exponent of a float64 is the number of bits; exact up to 2**53.
    bits = np.frexp((size - np.uint64(1)).astype(np.float64))[1].astype(np.uint64)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    fold = (bits + np.uint64(1)) // np.uint64(2)
    keys = [derive(key, r) for r in range(_ROUNDS)]
    y = np.array(_scramble(np.asarray(x, np.uint64), mask, fold, keys), ndmin=1)
    outside = np.nonzero(y >= size)
    if outside[0].size:
        size, mask, fold, *keys = (np.broadcast_to(each, y.shape)[outside] for each in (size, mask, fold, *keys))
    while outside[0].size:
        z = _scramble(y[outside], mask, fold, keys)
        y[outside] = z
        still = z >= size
        outside = tuple(axis[still] for axis in outside)
        size, mask, fold, *keys = (each[still] for each in (size, mask, fold, *keys))
    return y.astype(np.int64).reshape(shape)


def _scramble(
    x: NDArray[np.uint64], mask: NDArray[np.uint64], fold: NDArray[np.uint64], keys: list[NDArray[np.uint64]]
) -> NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        for key in keys:
            x = (x * (key | np.uint64(1)) + (key >> np.uint64(32))) & mask
            x = x ^ (x >> fold)
    return x


@dataclass(frozen=True)
class Draw:
    """The pairs of consecutive batches: one column per batch, one row per stratum; -1 and length 0 if empty."""

    rows: NDArray[np.int64]
    lengths: Lengths  # (sides, strata, batches)
    corpus: NDArray[np.int64]  # corpus of each stratum
    passes: NDArray[np.int64]  # by corpus and batch: the number of the pass over that corpus


def pass_length(weight: float, unit: int) -> int:
    """Return the batches per pass over a corpus, if a corpus of weight 1 has `unit` batches per pass."""
    return max(1, int(unit / weight + 0.5))


def n_strata(pool: Pool, unit: int) -> int:
    return -(-len(pool) // pass_length(pool.weight, unit))


def draw(pools: Sequence[Pool], unit: int, seed: int, first: int, count: int) -> Draw:
    """Draw the pairs of batches first .. first+count-1, before any move to make them fit."""
    batches = np.arange(first, first + count)
    parts: list[tuple[NDArray[np.int64], Lengths]] = []
    corpus: list[int] = []
    passes = []
    for c, pool in enumerate(pools):
        length, strata = pass_length(pool.weight, unit), n_strata(pool, unit)
        passes.append(batches // length)
        stratum = np.arange(strata)[:, None]
        key = derive(derive(derive(seed, c), _once(passes[-1])), stratum)
        rank = stratum * length + permute(batches % length, length, key)
        parts.append(_look_up(pool, rank, passes[-1]))
        corpus += [c] * strata
    rows, lengths = (np.concatenate(part, axis=-2) for part in zip(*parts, strict=True))
    return Draw(rows, lengths, np.array(corpus), np.array(passes))


def _once(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a single number if all columns are equal, as in most of a pass: this saves most of the key derivations."""
    return numbers[:1] if numbers[0] == numbers[-1] else numbers


def _look_up(pool: Pool, rank: NDArray[np.int64], passes: NDArray[np.int64]) -> tuple[NDArray[np.int64], Lengths]:
    rows = np.full(rank.shape, -1, np.int64)
    lengths = np.zeros((len(pool.sides), *rank.shape), np.int32)
    variants = passes % len(pool.variants)
    for variant in np.unique(variants):
        selected = (rank < len(pool)) & (variants == variant)
        chosen = pool.longest_first(variant)[rank[selected]].astype(np.int64)
        rows[selected] = chosen
        lengths[:, selected] = slot_lengths(pool.store(variant), chosen)
    return rows, lengths
