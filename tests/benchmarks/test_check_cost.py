"""The benchmark of the second look: it runs, and flags more with it."""

from benchmarks.check_cost import measure

LINES = ["We have exorcised the ghosts of the past.", "Good morning."]


def test_the_second_look_is_measured_with_and_without() -> None:
    assert [measure("en-de", LINES, check)[1] for check in (False, True)] == [0, 1]
