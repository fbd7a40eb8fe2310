"""Cutting what is too long: nothing lost, what must stay whole stays whole, the best places first."""

from hypothesis import given
from hypothesis import strategies as st

from hark.text.clauses import best_place, cut


def shorter_than(length: int):
    return lambda text: len(text) <= length


@given(st.text("ab,; ", max_size=80), st.integers(3, 20))
def test_the_parts_are_the_text_and_fit(text: str, length: int) -> None:
    parts = cut(text, shorter_than(length))
    assert "".join(parts) == text
    assert len(parts) % 2 == 1
    assert all(gap.isspace() or not gap for gap in parts[1::2])
    assert all(len(part) <= length for part in parts[::2])


def test_a_word_of_5000_letters() -> None:
    parts = cut("x" * 5000, shorter_than(60))
    assert "".join(parts) == "x" * 5000
    assert all(30 <= len(part) <= 60 for part in parts[::2])


def test_the_best_places_come_first() -> None:
    text = "we came in the morning; they, and the others, went home and slept"
    assert cut(text, shorter_than(60)) == ["we came in the morning;", " ", "they, and the others, went home and slept"]
    assert cut("the old man saw that the young one slept", shorter_than(30))[0] == "the old man saw"
    assert cut("one two three four", shorter_than(12)) == ["one two", " ", "three four"]


def test_a_place_far_from_the_middle_does_not_count() -> None:
    assert best_place("so, one two three four five six seven eight") != (3, 4)


def test_what_must_stay_whole() -> None:
    text = "see <a href='x, y; z'> and more words here"
    parts = cut(text, shorter_than(12), [(4, 22)])
    assert "<a href='x, y; z'>" in parts
    assert "".join(parts) == text
    assert cut("{long_name}", shorter_than(3), [(0, 11)]) == ["{long_name}"]


def test_letters_keep_their_accents() -> None:
    for part in cut("e\u0301" * 50, shorter_than(9))[::2]:
        assert not part.startswith("\u0301")
