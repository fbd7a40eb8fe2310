"""Sentences that are not in the source language."""

import pytest

from hark.text.foreign import other_language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Das ist ein deutscher Satz, den niemand übersetzen muss.", "de"),
        ("C'est une phrase française que personne ne comprend.", "fr"),
        ("No sé qué decirte, amigo mío.", "es"),
        ("This is an English sentence with a name, Jürgen Müller, in it.", None),
        ("Hallo", None),  # too short to decide
        ("12.5 kg, 13 kg, 14 kg", None),
        ("", None),
    ],
)
def test_detects_other_languages_in_an_english_text(text: str, expected: str | None) -> None:
    assert other_language(text, "en", "de") == expected


def test_the_source_language_may_have_a_region() -> None:
    assert other_language("This is an English sentence of some length.", "en-GB", "de") is None
