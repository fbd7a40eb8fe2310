"""Keyed permutations are bijective, differ by key, and look random."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hark.data.strata import derive, permute


@given(st.integers(1, 3000), st.integers(0, 2**64 - 1))
def test_is_a_bijection(size: int, key: int) -> None:
    assert sorted(permute(np.arange(size), size, key).tolist()) == list(range(size))


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20), st.integers(0, 2**32))
def test_arrays_agree_with_scalars(sizes: list[int], key: int) -> None:
    x = np.array([size // 2 for size in sizes])
    keys = derive(key, np.arange(len(sizes)))
    together = permute(x, np.array(sizes), keys)
    assert together.tolist() == [int(permute(*each)) for each in zip(x, sizes, keys, strict=True)]


def test_shapes_broadcast() -> None:
    keys = derive(1, np.arange(3))[:, None]
    table = permute(np.arange(5), 5, keys)
    assert table.shape == (3, 5)
    assert permute(0, 1, 7).shape == ()
    assert permute(np.zeros((1, 1)), 1, keys).shape == (3, 1)


def test_large_sizes() -> None:
    size = 10**12 + 39
    image = permute(np.arange(10_000), size, 5)
    assert len(set(image.tolist())) == 10_000
    assert image.min() >= 0
    assert image.max() < size
    assert abs(image.mean() / size - 0.5) < 0.02


def test_all_orders_of_three_occur_about_equally_often() -> None:
    keys = derive(3, np.arange(6000))[:, None]
    orders = Counter(map(tuple, permute(np.arange(3), 3, keys).tolist()))
    assert len(orders) == 6
    assert min(orders.values()) > 800


def test_positions_are_uniform() -> None:
    size, n_keys = 50, 20_000
    image = permute(np.arange(size), size, derive(0, np.arange(n_keys))[:, None])
    expected = n_keys / size
    counts = np.stack([np.bincount(column, minlength=size) for column in image.T])
    chi_squared = ((counts - expected) ** 2 / expected).sum() / (size - 1) ** 2
    assert 0.8 < chi_squared < 1.2  # 1 if random, with a standard deviation of 0.03


def test_neighbours_do_not_stay_neighbours() -> None:
    size = 1000
    image = permute(np.arange(size), size, derive(0, np.arange(100))[:, None])
    steps = np.bincount(((image[:, 1:] - image[:, :-1]) % size).ravel(), minlength=size)
    assert steps[0] == 0
    assert steps[1:].max() < 3 * steps[1:].mean()


def test_keys_of_different_numbers_differ() -> None:
    keys = derive(derive(1, np.arange(100))[:, None], np.arange(100))
    assert len(set(keys.ravel().tolist())) == 10_000
