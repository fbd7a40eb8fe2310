import pickle
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.data.held_out import HeldOut, essence


def held(*pairs: tuple[str, str]) -> HeldOut:
    held_out = HeldOut()
    for pair in pairs:
        held_out.add(*pair)
    return held_out


def test_a_match_on_the_same_side_is_enough() -> None:
    held_out = held(("Good morning.", "Guten Morgen."))
    assert held_out.has("Good morning.", "Moin.")
    assert held_out.has("Hello.", "Guten Morgen.")
    assert not held_out.has("Guten Morgen.", "Good morning.")
    assert not held_out.has("Good evening.", "Guten Abend.")


@pytest.mark.parametrize(
    "variant",
    [
        "good morning",
        "GOOD MORNING!",
        "“Good  morning …”",
        "Good-morning",
        "Ｇｏｏｄ ｍｏｒｎｉｎｇ。",
        "G o o d m o r n i n g 😀",
    ],
)
def test_case_punctuation_spaces_and_width_do_not_hide_a_sentence(variant: str) -> None:
    assert held(("Good morning.", "x")).has(variant, "y")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("कि", "की"),  # Devanagari vowel signs are marks, not letters
        ("10 Euro", "100 Euro"),
        ("schon", "schön"),
        ("मैं जाता हूँ", "मैं जाती हूँ"),
        ("กา", "กี"),
    ],
)
def test_marks_digits_and_accents_are_not_ignored(one: str, other: str) -> None:
    assert not held((one, "x")).has(other, "y")


def test_equal_after_case_folding_and_composition() -> None:
    assert held(("Straße", "x")).has("STRASSE", "y")
    assert held((unicodedata.normalize("NFD", "Übermäßig"), "x")).has("übermäßig", "y")


def test_a_line_without_letters_matches_only_itself() -> None:
    held_out = held(("...", "…"))
    assert held_out.has("...", "x")
    assert not held_out.has("!?", "–")
    assert not held_out.has("", "")


def test_an_empty_set_holds_nothing() -> None:
    assert not HeldOut()
    assert not HeldOut().has("", "")
    assert held(("a", "b"))


def test_pickles_small() -> None:
    held_out = HeldOut()
    for number in range(1000):
        held_out.add(f"Sentence number {number}, which is not short at all.", f"Satz {number}")
    data = pickle.dumps(held_out)
    assert len(data) < 40 * 1000
    assert pickle.loads(data).has("sentence number 7 which is not short at all", "x")


@given(st.text())
def test_any_text_matches_itself_in_any_case(text: str) -> None:
    assert held((text, "x")).has(text, "y")
    if essence(text) != text.encode("utf-8", "replace"):
        assert essence(text.casefold()) == essence(text)


@given(
    st.text(alphabet=st.characters(categories=["Lu", "Ll", "Nd"]), min_size=1), st.sampled_from(" .,;!?-–“”«»…、。।")
)
def test_punctuation_between_letters_is_ignored(letters: str, sign: str) -> None:
    assert essence(sign.join(letters)) == essence(letters)
