"""Fault detection: loops, empty output, implausible lengths and truncation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.translate.readings import find_faults, is_long, is_looped, is_short, repetition


def faults(source: list[int], target: list[int], complete: bool = True) -> set[str]:
    return set(find_faults(source, target, "xxxx" * len(source), "yyyy" * len(target), complete))


PLAIN = list(range(100, 120))


def test_a_good_translation_has_no_faults() -> None:
    assert faults(PLAIN, list(range(30, 55))) == set()
    assert faults([1], [2, 3, 4, 5, 6]) == set()


def test_empty_output() -> None:
    assert faults(PLAIN, []) == {"empty", "length"}
    assert find_faults([5], [9], "a", "  ", True) == {"empty"}


def test_truncated_output() -> None:
    assert faults(PLAIN, PLAIN, complete=False) == {"truncated"}


def test_implausible_lengths() -> None:
    assert faults(PLAIN, list(range(200, 280))) == {"length"}
    assert faults(list(range(200, 280)), PLAIN) == {"length"}
    # Many tokens but few characters: encoded as bytes.
    assert find_faults(list(range(80)), [1, 2, 3], "x" * 30, "y" * 10, True) == set()


@given(
    st.lists(st.integers(0, 50), max_size=8, unique=True),
    st.lists(st.integers(60, 99), min_size=1, max_size=6, unique=True),
    st.integers(3, 9),
)
def test_every_long_repeat_is_a_loop(start: list[int], unit: list[int], times: int) -> None:
    looped = len(unit) * times >= 8
    assert is_looped(PLAIN, start + unit * times) == looped


@given(st.lists(st.integers(0, 10_000), max_size=40, unique=True))
def test_text_without_repeats_is_not_a_loop(target: list[int]) -> None:
    assert not is_looped([], target)


def test_a_source_may_repeat_itself() -> None:
    ha = [7, 8]
    assert is_looped(PLAIN, ha * 6)
    assert not is_looped(ha * 6, ha * 6)
    assert not is_looped(ha * 4, [1, *ha * 6])
    assert is_looped(ha * 4, ha * 30)


def test_repeats_with_small_changes_are_loops() -> None:
    varied = [token for i in range(12) for token in (1, 2, 3, 4, 50 + i)]
    assert is_looped(list(range(60)), varied)
    assert not is_looped(varied, varied)


@pytest.mark.parametrize(
    ("tokens", "covered"), [([], 0), ([1, 1], 0), ([1, 1, 1], 3), ([1, 2, 1, 2, 1, 2, 1], 7), ([5, 1, 1, 1, 1, 6], 4)]
)
def test_repetition(tokens: list[int], covered: int) -> None:
    assert repetition(tokens) == covered


@pytest.mark.parametrize(
    ("chinese", "english"),
    [
        ("他说今年的情况更加困难，因为原材料价格上涨了很多，而且工人的工资也提高了。",
         "He said that this year's situation was even more difficult, as prices of raw materials had risen "
         "considerably and workers' wages had gone up as well."),
        ("中国是世界上人口最多的国家之一。", "China is one of the most populous countries in the world."),
        ("お忙しいところ恐れ入りますが、よろしくお願いいたします。",
         "I know that you are busy, but thank you very much for your help."),
    ],
)  # fmt: skip
def test_lengths_of_ideographs_and_letters_are_comparable(chinese: str, english: str) -> None:
    assert not is_long(chinese, english)
    assert not is_short(english, chinese)
    assert is_long(chinese, english * 3)
    assert is_short(english * 3, chinese)
    tokens = list(range(100, 108)), list(range(200, 240))
    assert "length" not in find_faults(*tokens, chinese, english, True)
    assert "length" in find_faults(*tokens, "你好", english * 3, True)
