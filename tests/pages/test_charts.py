"""Axes: round ticks in range, short labels."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.pages import charts as axes


@settings(deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 8), st.booleans())
def test_ticks_are_few_and_inside(low: float, span: float, most: int, time: bool) -> None:
    found = axes.ticks(low, low + span, most, time)
    assert len(found) <= most + 1
    assert all(low - span * 0.01 <= each <= low + span * 1.01 for each in found)


@pytest.mark.parametrize(("tick", "text"), [(0, "0"), (0.0002, "2e-4"), (2.5, "2.5"), (20_000, "20k"), (1.5e9, "1.5G")])
def test_labels(tick: float, text: str) -> None:
    assert axes.label(tick) == text


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.9, 12, [1, 2, 5, 10]), (40, 90, [50]), (1, 10_000, [1, 10, 100, 1000, 10_000])]
)
def test_log_ticks(low: float, high: float, expected: list[float]) -> None:
    assert axes.log_ticks(low, high) == expected


def test_labels_of_neighbouring_ticks_differ() -> None:
    assert axes.labels([1.7915, 1.7920, 1.7925]) == ["1.7915", "1.792", "1.7925"]
    assert axes.labels([1.5, 2.0, 2.5]) == ["1.5", "2", "2.5"]
