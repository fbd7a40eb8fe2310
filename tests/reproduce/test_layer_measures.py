"""Exponents and laws are found in data that follow them."""

import math

import pytest

from hark.reproduce.layer_measures import fit_exponent, name_law


def test_an_exponent_ignores_constant_costs_of_small_sizes() -> None:
    assert fit_exponent([(n, 3.0 * n**2) for n in (16, 32, 64, 128)]) == pytest.approx(2.0)
    with_constant = [(n, 1e4 + n**2) for n in (16, 32, 2048, 4096)]
    assert fit_exponent(with_constant) == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize(
    ("values", "law"),
    [
        ([7, 7, 7, 7, 7], "O(1)"),
        ([2, 3, 4, 4, 5], "O(log n)"),
        ([math.ceil((n - 1) / 4) for n in (8, 16, 32, 64, 128)], "O(n)"),
        ([5 * n + 3 for n in (8, 16, 32, 64, 128)], "O(n)"),
        ([n * n for n in (8, 16, 32, 64, 128)], "O(n²)"),
    ],
)
def test_the_law_of_a_count_is_named(values: list[int], law: str) -> None:
    assert name_law(list(zip((8, 16, 32, 64, 128), values, strict=True))) == law
