"""Keyed pseudo-random permutations that can be evaluated at single points.

A shuffled list must be built before its millionth entry can be read. These are functions, so any batch of any pass
over the data can be computed directly from a few integers.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
