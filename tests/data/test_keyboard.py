"""Text from a plain keyboard: what is lost, and what is never touched."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.data.keyboard import QUOTES, requote, type_plainly


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("Schöne Grüße aus Österreich", "Schoene Gruesse aus Oesterreich"),
        ("I don’t know, it's Tom's.", "I dont know, its Toms."),
        ("L'élève a été à Noël", "Leleve a ete a Noel"),
        ("the '90s and 'yes'", None),
        ("Nothing to lose.", None),
    ],
)
def test_letters_become_those_of_a_plain_keyboard(source, plain):
    assert type_plainly(source, "x") == (None if plain is None else (plain, "x"))


@given(st.text())
def test_typed_text_has_no_marks_left(text):
    varied = type_plainly(text, "x")
    if varied is not None:
        assert varied[0]
        assert not any(unicodedata.combining(character) for character in varied[0])
        assert type_plainly(*varied) is None


@pytest.mark.parametrize(
    "source",
    ['Er sagte "Ja" und ging.', "Er sagte „Ja“ und ging.", "Er sagte « Ja » und ging.", "Er sagte »Ja« und ging."],
)
def test_quotations_get_every_kind_of_marks(source):
    varied = {requote(source, "x", np.random.default_rng(seed)) for seed in range(60)}
    expected = {(f"Er sagte {left}Ja{right} und ging.", "x") for left, right in QUOTES} - {(source, "x")}
    assert varied - {None} == expected


@pytest.mark.parametrize(
    "source", ["no quotation", 'a 5" screen', "Tom's book isn't here", 'an "open quotation', "a < b > c"]
)
def test_other_marks_stay(source):
    assert all(requote(source, "x", np.random.default_rng(seed)) is None for seed in range(20))
