"""Which pairs a batch gets: stratified draws, computed for any batch directly.

A corpus's pairs, sorted by length once, are cut into strata of as many neighbours as a pass has batches. In each
pass every stratum is shuffled by a permutation of its own, and batch b takes its b-th pair of each stratum. So all
batches have nearly the same mix of lengths, every pair comes exactly once a pass, and a pass needs no preparation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hark.data.permutation import derive, permute
from hark.data.pool import Lengths, Pool


@dataclass(frozen=True)
class Draw:
    """The pairs of some consecutive batches: a column a batch, a row a stratum, -1 and length 0 where it has none."""

    rows: NDArray[np.int64]
    source: Lengths
    target: Lengths
    corpus: NDArray[np.int64]  # of each stratum
    passes: NDArray[np.int64]  # of each corpus and batch: which pass over that corpus it belongs to


def pass_length(weight: float, unit: int) -> int:
    """Batches in one pass over a corpus, where a pass over one of weight 1 has `unit` batches."""
    return max(1, int(unit / weight + 0.5))


def n_strata(pool: Pool, unit: int) -> int:
    return -(-len(pool) // pass_length(pool.weight, unit))


def draw(pools: Sequence[Pool], unit: int, seed: int, first: int, count: int) -> Draw:
    """The pairs of the batches first .. first+count-1, before any of them is moved to make them fit."""
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
    """One number for all columns where they agree, as all but the last of a pass do: it saves most of the keys."""
    return numbers[:1] if numbers[0] == numbers[-1] else numbers


def _look_up(
    pool: Pool, rank: NDArray[np.int64], passes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], Lengths, Lengths]:
    rows = np.full(rank.shape, -1, np.int64)
    source, target = np.zeros(rank.shape, np.int32), np.zeros(rank.shape, np.int32)
    variants = passes % len(pool.variants)
    for variant in np.unique(variants):
        mine = (rank < len(pool)) & (variants == variant)
        chosen = pool.longest_first(variant)[rank[mine]].astype(np.int64)
        rows[mine] = chosen
        source[mine], target[mine] = pool.lengths(pool.store(variant), chosen)
    return rows, source, target
