"""Number words and their values."""

from decimal import Decimal

import pytest

from hark.text.numerals import Amount
from hark.text.spelled import named_months, spelled_values


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("A man and a dog, nobody else", "en", set()),
        ("Ein Mann und eine Frau", "de", set()),
        ("zero, one and twelve", "en", {0, 1, 12}),
        ("twenty-five or twenty five", "en", {25}),
        ("a hundred and five", "en", {5, 100, 105}),
        ("two thousand and fourteen", "en", {14, 2014}),
        ("seven hundred thousand", "en", {700_000}),
        ("two and a half million", "en", {Decimal("0.5"), 2_500_000}),
        ("half a million", "en", {500_000}),
        ("nineteen ninety", "en", {19, 90, 1990}),
        ("the third of the twenty-first", "en", {3, 20, 21}),
        ("once, twice, a dozen, two dozen", "en", {1, 2, 12, 24}),
        ("sixty seconds", "en", {60}),
        ("three quarters", "en", {3, Decimal("0.75")}),
        ("four decades", "en", {40}),
        ("zwölf, fünfundzwanzig, dreissig", "de", {12, 25, 30}),
        ("hundert, hundertfünf, zweihundertfünfzig", "de", {100, 105, 250}),
        ("zweitausendvierzehn, neunzehnhundertneunzig", "de", {2014, 1990}),
        ("anderthalb Millionen, dreieinhalbtausend", "de", {1_500_000, 3500}),
        ("der zweite, die dritten, am zwanzigsten, siebter", "de", {2, 3, 20, 7}),
        ("ein Dutzend, die Hälfte", "de", {12, Decimal("0.5")}),
        ("quatre-vingt-dix-sept, vingt et un", "fr", {97, 21}),
        ("treinta y cinco, veintiséis", "es", {5, 30, 35, 26}),
        ("ventuno, trentotto, duemila", "it", {21, 38, 2000}),
        ("tweeëntwintig, vijfenzeventig", "nl", {22, 75}),
        ("vinte e cinco", "pt", {5, 20, 25}),
    ],
)
def test_values(text: str, language: str, expected: set[Amount]) -> None:
    assert spelled_values(text, language) == expected


@pytest.mark.parametrize(
    ("text", "language", "value"),
    [
        ("a kilo", "en", 1),
        ("both of them", "en", 2),
        ("at noon", "en", 12),
        ("half an hour", "en", 30),
        ("World War II", "en", 2),
        ("Ludwig XIV.", "de", 14),
        ("ein Kilo", "de", 1),
        ("zehnjährige Kinder", "de", 10),
        ("eine Viertelstunde", "de", 15),
        ("die neunzehnhundertsiebziger Jahre", "de", 1970),
    ],
)
def test_implied_values(text: str, language: str, value: Amount) -> None:
    assert value not in spelled_values(text, language)
    assert value in spelled_values(text, language, implied=True)


def test_months() -> None:
    assert named_months("You may come on July 12 or in May", "en") == {5, 7}
    assert named_months("Anfang des Oktobers", "de") == {10}


def test_long_words_are_fast() -> None:
    """Without a limit, the first takes years and the second recurs too deeply."""
    assert spelled_values("dreizehn" * 10_000, "de", implied=True) == frozenset()
    assert spelled_values("hundert" * 10_000, "de", implied=True) == frozenset()
