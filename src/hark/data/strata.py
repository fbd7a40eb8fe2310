"""Stratified sampling of pairs for batches, computed directly for any batch.

The pairs of a corpus, sorted by length once, are cut into strata with as many pairs as a pass has batches. In each pass
every stratum has its own permutation, and batch b takes the b-th pair of each. So all batches have nearly the same mix
of lengths, every pair occurs exactly once per pass, and a pass needs no preparation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hark.data.permutation import derive, permute
from hark.data.pool import Lengths, Pool


@dataclass(frozen=True)
class Draw:
    """The pairs of consecutive batches: one column per batch, one row per stratum; -1 and length 0 if empty."""

    rows: NDArray[np.int64]
    source: Lengths
    target: Lengths
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
    parts: list[tuple[NDArray[np.int64], Lengths, Lengths]] = []
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
    rows, source, target = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Draw(rows, source, target, np.array(corpus), np.array(passes))


def _once(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a single number if all columns are equal, as in most of a pass: this saves most of the key derivations."""
    return numbers[:1] if numbers[0] == numbers[-1] else numbers


def _look_up(
    pool: Pool, rank: NDArray[np.int64], passes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Lengths, Lengths]:
    rows = np.full(rank.shape, -1, np.int64)
    source, target = np.zeros(rank.shape, np.int32), np.zeros(rank.shape, np.int32)
    variants = passes % len(pool.variants)
    for variant in np.unique(variants):
        selected = (rank < len(pool)) & (variants == variant)
        chosen = pool.longest_first(variant)[rank[selected]].astype(np.int64)
        rows[selected] = chosen
        source[selected], target[selected] = pool.lengths(pool.store(variant), chosen)
    return rows, source, target
