"""Cutting long text: lossless, keeps spans whole, prefers the best places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text import clauses
from hark.text.clauses import best_place, bounded, cut, is_unbroken, set_apart


def shorter_than(length: int):
    return lambda text: len(text) <= length


@given(st.text("ab,; ", max_size=80), st.integers(3, 20))
def test_parts_join_to_the_text_and_fit(text: str, length: int) -> None:
    parts = cut(text, shorter_than(length))
    assert "".join(parts) == text
    assert len(parts) % 2 == 1
    assert all(gap.isspace() or not gap for gap in parts[1::2])
    assert all(len(part) <= length for part in parts[::2])


def test_a_word_of_5000_letters() -> None:
    parts = cut("x" * 5000, shorter_than(60))
    assert "".join(parts) == "x" * 5000
    assert all(30 <= len(part) <= 60 for part in parts[::2])


def test_the_best_kind_of_cut_is_preferred() -> None:
    text = "we came in the morning; they, and the others, went home and slept"
    assert cut(text, shorter_than(60)) == ["we came in the morning;", " ", "they, and the others, went home and slept"]
    assert cut("the old man saw that the young one slept", shorter_than(30))[0] == "the old man saw"
    assert cut("one two three four", shorter_than(12)) == ["one two", " ", "three four"]


def test_a_cut_far_from_the_middle_is_ignored() -> None:
    assert best_place("so, one two three four five six seven eight") != (3, 4)


def test_kept_spans_stay_whole() -> None:
    text = "see <a href='x, y; z'> and more words here"
    parts = cut(text, shorter_than(12), [(4, 22)])
    assert "<a href='x, y; z'>" in parts
    assert "".join(parts) == text
    assert cut("{long_name}", shorter_than(3), [(0, 11)]) == ["{long_name}"]


def test_letters_keep_their_accents() -> None:
    for part in cut("e\u0301" * 50, shorter_than(9))[::2]:
        assert not part.startswith("\u0301")


@given(st.text("ab,; ", min_size=0, max_size=200), st.integers(3, 20), st.integers(10, 40))
def test_windows_are_lossless(text: str, length: int, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clauses, "WINDOW", window)
        parts = cut(text, shorter_than(length))
        assert "".join(bounded(text)) == text
        assert all(len(part) <= window for part in bounded(text))
    assert "".join(parts) == text
    assert len(parts) % 2 == 1
    assert all(gap.isspace() or not gap for gap in parts[1::2])
    assert all(len(part) <= length for part in parts[::2])


def test_kept_spans_stay_whole_across_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clauses, "WINDOW", 20)
    text = "some words <a b c d e f g h i j k l m n o p q> and more words, {x y z} and more"
    keep = [(text.index("<"), text.index(">") + 1), (text.index("{"), text.index("}") + 1)]
    parts = cut(text, shorter_than(8), keep)
    assert "".join(parts) == text
    assert [text[slice(*span)] in parts for span in keep] == [True, True]


class Counted:
    """Counts the characters it is called with."""

    def __init__(self) -> None:
        self.characters = 0

    def __call__(self, text: str) -> bool:
        self.characters += len(text)
        return len(text) <= 500


@pytest.mark.parametrize("unit", ["x", "word ", "word, ", "a" + " " * 9000])
def test_work_is_linear_in_the_length(unit: str) -> None:
    asked = []
    for length in (30_000, 120_000):
        fits = Counted()
        assert "".join(cut(unit * (length // len(unit)), fits)) == unit * (length // len(unit))
        asked.append(fits.characters)
    assert asked[1] < 4.5 * asked[0]


def test_unbroken_runs_are_set_apart() -> None:
    blob = "QUJD/+" * 2000
    text = f"Before it {blob} and after."
    assert set_apart(text) == ["Before it ", blob, " and after."]
    assert [is_unbroken(part) for part in set_apart(text)] == [False, True, False]
    assert set_apart(blob) == [blob]
    assert set_apart("x" * 5000) == ["x" * 5000]
    assert not is_unbroken("x" * 5000)
    chinese = "\u4e2d\u6587" * 20_000  # a script without spaces
    assert set_apart(chinese) == [chinese]
    assert not is_unbroken(chinese)
