"""Normalisation: what it unifies and what it preserves."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.normalise import normalise

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
