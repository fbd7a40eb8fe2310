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
    if shape == ():
        return np.asarray(_permute_one(int(np.asarray(x)), int(np.asarray(size)), int(np.asarray(key))))
    size = np.asarray(size, np.uint64)
    # The exponent of a float64 is the number of bits; exact up to 2**53.
    bits = np.asarray(np.frexp((size - np.uint64(1)).astype(np.float64))[1]).astype(np.uint64)
    mask = np.asarray((np.uint64(1) << bits) - np.uint64(1))
    fold = np.asarray((bits + np.uint64(1)) // np.uint64(2))
    keys = derive(key, np.arange(_ROUNDS, dtype=np.uint64).reshape(_ROUNDS, *[1] * len(shape)))
    factors, terms = keys | np.uint64(1), keys >> np.uint64(32)
    y = np.array(np.broadcast_to(_scramble(np.asarray(x, np.uint64), mask, fold, factors, terms), shape))
    outside = np.flatnonzero(y >= size)
    if outside.size:
        flat = y.reshape(-1)
        size, mask, fold = (_pick(each, shape, outside) for each in (size, mask, fold))
        factors, terms = (
            np.broadcast_to(each, (_ROUNDS, *shape)).reshape(_ROUNDS, -1)[:, outside] for each in (factors, terms)
        )
        while outside.size:
            z = _scramble(flat[outside], mask, fold, factors, terms)
            flat[outside] = z
            still = z >= size
            outside, factors, terms = outside[still], factors[:, still], terms[:, still]
            size, mask, fold = (each[still] if each.ndim else each for each in (size, mask, fold))
    return y.astype(np.int64)


def _pick(each: NDArray[np.uint64], shape: tuple[int, ...], places: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Values at some places, or the one value of all places."""
    return np.broadcast_to(each, shape).reshape(-1)[places] if each.ndim else each


def _scramble(
    x: NDArray[np.uint64],
    mask: NDArray[np.uint64],
    fold: NDArray[np.uint64],
    factors: NDArray[np.uint64],
    terms: NDArray[np.uint64],
) -> NDArray[np.uint64]:
    for factor, term in zip(factors, terms, strict=True):
        x = (x * factor + term) & mask
        x ^= x >> fold
    return x


def _permute_one(x: int, size: int, key: int) -> int:
    """The same for a single number, in Python's own integers, which take a tenth of the time."""
    bits = (size - 1).bit_length()
    mask, fold = (1 << bits) - 1, (bits + 1) // 2
    keys = [int(each) for each in derive(key, np.arange(_ROUNDS, dtype=np.uint64))]
    while True:
        for each in keys:
            x = (x * (each | 1) + (each >> 32)) & mask
            x ^= x >> fold
        if x < size:
            return x
