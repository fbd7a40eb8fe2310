"""Packing keeps every pair, respects the capacity, and wastes little."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hark.data.packing import Capacity, balance, pack

pair_lengths = st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=60)


def within(capacity: Capacity, source: np.ndarray, target: np.ndarray, bins: np.ndarray, n_bins: int) -> bool:
    loads = [np.bincount(bins, weights=side, minlength=n_bins).max() for side in (source, target, np.ones_like(source))]
    return all(load <= room for load, room in zip(loads, (*capacity.slots, capacity.pairs), strict=True))


@given(pair_lengths, st.integers(1, 8), st.integers(40, 200), st.integers(40, 200), st.integers(1, 30))
def test_packed_bins_are_within_capacity(
    lengths: list[tuple[int, int]], n_bins: int, source_room: int, target_room: int, pairs: int
) -> None:
    source, target = np.array(lengths, np.int32).T
    capacity = Capacity((source_room, target_room), pairs)
    bins = pack(np.stack([source, target]), n_bins, capacity)
    placed = bins >= 0
    assert bins.max() < n_bins
    assert placed.any()
    assert within(capacity, source[placed], target[placed], bins[placed], n_bins)


@given(pair_lengths, st.integers(1, 8), st.randoms())
def test_packing_does_not_depend_on_order(lengths: list[tuple[int, int]], n_bins: int, chance) -> None:
    """So a round that can be packed proves that all can."""

    def contents(order: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
        bins = pack(np.array(order, np.int32).T, n_bins, Capacity((100, 90), 10))
        return [sorted(pair for pair, b in zip(order, bins, strict=True) if b == which) for which in range(-1, n_bins)]

    shuffled = lengths.copy()
    chance.shuffle(shuffled)
    assert contents(lengths) == contents(shuffled)


def test_pairs_that_fill_bins_exactly_are_packed() -> None:
    source = np.array([60, 40] * 8 + [100] * 3, np.int32)
    for n_sides in (1, 2):
        assert (pack(np.stack([source] * n_sides), 11, Capacity((100,) * n_sides, 4)) >= 0).all()


@given(
    st.integers(1, 12),
    st.integers(2, 10),
    st.floats(1.0, 1.5),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)
def test_balanced_columns_fit_and_keep_every_pair(
    n_rows: int, n_columns: int, slack: float, n_sides: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    lengths = chance.integers(1, 50, (n_sides, n_rows, n_columns), dtype=np.int32)
    lengths[:, -1, chance.random(n_columns) < 0.5] = 0
    capacity = Capacity(tuple(max(int(side.sum() / n_columns * slack), 50) for side in lengths), n_rows + 3)
    entries = balance(lengths, capacity)
    if entries is None:
        return
    assert sorted(entries[entries >= 0]) == list(range(n_rows * n_columns))
    assert entries.shape[0] <= capacity.pairs
    for side, room in zip(lengths, capacity.slots, strict=True):
        loads = np.where(entries >= 0, side.flat[entries], 0).sum(0)
        assert loads.max() <= room


def test_balancing_succeeds_with_little_room_and_changes_little() -> None:
    chance = np.random.default_rng(0)
    source = np.sort(np.clip(chance.lognormal(3.15, 0.62, 300 * 32), 2, 250).astype(np.int32)).reshape(300, 32)
    source = chance.permuted(source, axis=1)
    target = np.clip(source * chance.lognormal(0.03, 0.18, source.shape), 2, 250).astype(np.int32)
    capacity = Capacity(tuple(int(side.sum() / 32 / 0.995) for side in (source, target)), 400)
    assert (source.sum(0) > capacity.slots[0]).any()
    entries = balance(np.stack([source, target]), capacity)
    assert entries is not None
    moved = entries[:300] % 32 != np.arange(32)
    assert moved.mean() < 0.05


def test_balancing_gives_up_if_pairs_cannot_fit() -> None:
    tens = np.full((2, 4, 4), 10, np.int32)
    assert balance(tens, Capacity((39, 40), 10)) is None
    assert balance(tens[:, :3], Capacity((38, 38), 10)) is not None
