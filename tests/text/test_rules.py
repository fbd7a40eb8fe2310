"""The switches of the rules: each is in one table, and off means that nothing is written by it."""

from typing import get_args

import pytest

from hark.text.protect import find
from hark.text.rules import ON, RULES, Rule


def test_every_rule_has_a_switch_and_a_description() -> None:
    assert tuple(RULES) == get_args(Rule)
    assert {rule for rule, (on, _) in RULES.items() if on} == ON
    assert all(what for _, what in RULES.values())


@pytest.mark.parametrize(
    ("rule", "text", "written"),
    [
        ("spoken times", "at half past three", "halb vier"),
        ("digital times", "at 6:45 pm", "18:45 Uhr"),
        ("prices", "for $1.50", "1,50 $"),
        ("quantities", "it weighs 1.5 kg", "1,5 kg"),
        ("quantities", "up 7.4%", "7,4 %"),
        ("thousands", "with 1,250 people", "1.250"),
    ],
)
def test_a_rule_that_is_off_writes_nothing(rule: Rule, text: str, written: str) -> None:
    assert [item.written for item in find(text, lambda _: "", "en", "de")] == [written]
    assert {item.written for item in find(text, lambda _: "", "en", "de", rules=ON - {rule})} <= {""}
    assert [item.written for item in find(text, lambda _: "", "en", "de", rules=frozenset({rule}))] == [written]
