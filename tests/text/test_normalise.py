"""Normalisation: what it unifies and what it preserves."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.normalise import is_shouted, normalise, sentence_case, shout

# Including surrogates: JSON escapes can produce them.
any_text = st.text(st.characters(codec=None))


@given(any_text)
def test_is_idempotent(text):
    once = normalise(text)
    assert normalise(once) == once


@given(any_text)
def test_result_is_nfc_with_single_spaces(text):
    result = normalise(text)
    assert unicodedata.is_normalized("NFC", result)
    assert result == " ".join(result.split())
    assert result.encode("utf-8").decode("utf-8") == result


@given(st.text("abc ü\u0301\u200b\u00ad", max_size=12))
def test_letters_and_accents_brought_together_are_composed(text):
    assert unicodedata.is_normalized("NFC", normalise(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a \t b\n", "a b"),
        ("10\u00a0000\u202f€\u3000!\u2028x\x85y\x0bz", "10 000 € ! x y z"),
        ("Ko\u00adope\u200bra\u2060tion\ufeff", "Kooperation"),
        ("e\u0301", "é"),
        ("e\u200b\u0301", "é"),
        ("a\ud800b", "a\ufffdb"),
        ("a\u2581b", "a_b"),
        ("", ""),
        (" \u200b ", ""),
    ],
)
def test_examples(text, expected):
    assert normalise(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "½ ™ ﬁ Ａ ² …",  # NFKC would rewrite them
        "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 ❤️",  # joined with U+200D, varied with U+FE0F
        "می‌خواهم",  # Persian, with the non-joiner
        "क्‍ष",  # Devanagari, with the joiner
        "a\x00b",
    ],
)
def test_preserves_meaningful_characters(text):
    assert normalise(text) == text


@pytest.mark.parametrize(
    "text", ["THE CAT SEES A HOUSE", "WARNING!", "DIE STRASSE IST GLATT.", "MEETING OF THE EU (iv)"]
)
def test_shouted(text: str) -> None:
    assert is_shouted(text)


@pytest.mark.parametrize(
    "text", ["NATO", "UNESCO", "The EU and NATO agree", "McDONALD was here", "2014", "", "你好世界你好世界", "abc"]
)
def test_not_shouted(text: str) -> None:
    assert not is_shouted(text)


def test_kept_spans_are_ignored_and_unchanged() -> None:
    text = "SEE HTTP://A.B/C NOW, please_wait"
    keep = [(4, 16), (22, 33)]
    assert is_shouted("OPEN the_file_name NOW", [(5, 18)])
    assert not is_shouted("OPEN the_file_name NOW")
    lowered = sentence_case(text, keep)
    assert lowered.after == "See HTTP://A.B/C now, please_wait"
    assert shout(lowered.after, keep).after == text
    assert sentence_case("{A} IS HERE", [(0, 3)]).after == "{A} is here"


def test_positions_map_when_a_letter_becomes_two() -> None:
    shouted = shout("die Straße ist naß")
    assert shouted.after == "DIE STRASSE IST NASS"
    assert shouted.after[slice(*shouted.forth((4, 10)))] == "STRASSE"
    assert shouted.before[slice(*shouted.back((16, 20)))] == "naß"
