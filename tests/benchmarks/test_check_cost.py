"""The benchmark of the second look: it runs, and flags no less with it."""

from benchmarks.check_cost import measure

LINES = ["We have exorcised the ghosts of the past.", "Good morning."]


def test_the_second_look_is_measured_with_and_without() -> None:
    without, flagged = (measure("en-de", LINES, check)[1] for check in (False, True))
    assert 0 <= without <= flagged <= len(LINES)
