"""Messages for faults."""

from typing import get_args

from hark.decode.faults import FAULTS, Fault
from hark.decode.reasons import MESSAGES, Reason, in_order


def test_every_fault_has_a_message() -> None:
    assert set(MESSAGES) == set(FAULTS) == set(get_args(Fault))


def test_message_of_a_reason() -> None:
    assert str(Reason("number", "120 -> 1")) == "a number changed (120 -> 1)"
    assert str(Reason("looped")) == "the translation repeats itself"
    assert len(str(Reason("changed", "x" * 500))) < 120


def test_reasons_are_sorted_by_severity_and_merged_by_flag() -> None:
    found = in_order(
        [Reason("unsure", "40%"), Reason("number", "2 -> 3"), Reason("unsure", "30%"), Reason("unsure", "40%")]
    )
    assert found == (Reason("number", "2 -> 3"), Reason("unsure", "40%, 30%"))
    assert in_order([]) == ()
