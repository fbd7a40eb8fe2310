"""Number formats."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.pages import formats


@pytest.mark.parametrize(
    ("formatted", "expected"),
    [
        (formats.short(513_211.0), "513k"),
        (formats.short(999.7), "1.00k"),
        (formats.short(0.8211), "0.821"),
        (formats.short(12.0), "12"),
        (formats.short(1_240_000), "1.24M"),
        (formats.short(float("inf")), "?"),
        (formats.duration(45), "45 s"),
        (formats.duration(3_599), "1 h 00 min"),
        (formats.duration(4_330), "1 h 12 min"),
        (formats.duration(90_000), "1 d 1 h"),
        (formats.duration(-5), "0 s"),
        (formats.size(0), "0 B"),
        (formats.size(757_000_000), "757 MB"),
        (formats.loss(float("nan")), "NaN"),
    ],
)
def test_number_formats(formatted: str, expected: str) -> None:
    assert formatted == expected


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (0, 0, "0%"),
        (0, 9, "0%"),
        (9, 9, "100%"),
        (1, 2, "50.0%"),
        (1, 10**6, "0.00010%"),
        (10**6 - 1, 10**6, "99.99990%"),
    ],
)
def test_a_share_never_rounds_to_none_or_all(part: int, whole: int, expected: str) -> None:
    assert formats.share(part, whole) == expected


@given(st.integers(0, 10**9), st.integers(1, 10**9))
def test_a_share_is_accurate(part: int, rest: int) -> None:
    whole = part + rest
    assert float(formats.share(part, whole).removesuffix("%")) == pytest.approx(100 * part / whole, abs=0.06)


def test_columns_of_a_table_are_as_wide_as_their_longest_cell() -> None:
    rows = [("run", "state", "step"), ("a", "finished", "1,000")]
    assert list(formats.aligned(rows, left=2)) == ["run  state      step", "a    finished  1,000"]
    assert list(formats.aligned([("", "de"), ("en", "-")])) == ["    de", "en   -"]
