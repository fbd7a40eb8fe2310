"""Number words and their values."""

from decimal import Decimal
from pathlib import Path

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


TABLE = [
    line.split("\t")
    for line in (Path(__file__).parent / "data" / "number_words.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("language", TABLE[0][1:])
def test_every_number_in_words(language: str) -> None:
    """The table was made with num2words 0.5.14, an independent implementation."""
    column = TABLE[0].index(language)
    assert len(TABLE) > 140
    wrong = {row[column]: row[0] for row in TABLE[1:] if int(row[0]) not in spelled_values(row[column], language, True)}
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "language", "value"),
    [
        ("une demi-heure", "fr", 30),
        ("un quart d'heure", "fr", 15),
        ("dans quinze jours", "fr", 14),
        ("à midi", "fr", 12),
        ("nonante-sept francs", "fr", 97),
        ("le vingt-deuxième jour", "fr", 22),
        ("le premier mai", "fr", 1),
        ("Louis XIV", "fr", 14),
        ("media hora", "es", 30),
        ("hora y media", "es", 90),
        ("veintiún años", "es", 21),
        ("doscientas personas", "es", 200),
        ("mil y una noches", "es", 1001),
        ("el siglo XXI", "es", 21),
        ("la cuarta vez", "es", 4),
        ("mezz'ora", "it", 30),
        ("centootto", "it", 108),
        ("il ventitreesimo giorno", "it", 23),
        ("la ventunesima volta", "it", 21),
        ("due milioni e mezzo", "it", 2_500_000),
        ("een half uur", "nl", 30),
        ("drie kwartier", "nl", 45),
        ("anderhalf jaar", "nl", 18),
        ("tweeënhalf miljoen", "nl", 2_500_000),
        ("de eenentwintigste eeuw", "nl", 21),
        ("een tienjarig kind", "nl", 10),
        ("negentienhonderdnegentig", "nl", 1990),
        ("meia hora", "pt", 30),
        ("ao meio-dia", "pt", 12),
        ("duzentas pessoas", "pt", 200),
        ("dezesseis ou dezasseis", "pt", 16),
    ],
)
def test_number_words_of_other_languages(text: str, language: str, value: Amount) -> None:
    assert value in spelled_values(text, language, implied=True)


def test_months_in_lower_case() -> None:
    assert named_months("le 12 juillet 1989", "fr") == {7}
    assert named_months("12 de marzo", "es") == {3}
    assert named_months("12 mrt", "nl") == {3}
    assert named_months("12 de fevereiro", "pt") == {2}
    assert named_months("il 3 ott. 2020", "it") == {10}
