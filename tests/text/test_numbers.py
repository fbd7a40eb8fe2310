"""Comparison of the numbers in a source and its translation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.numbers import NumberChange, compare_numbers


def changes(source: str, translation: str, pair: str = "en-de") -> list[tuple[str | None, str | None]]:
    return [(change.source, change.translation) for change in compare_numbers(source, translation, *pair.split("-"))]


KEPT = [
    ("no numbers at all", "gar keine Zahlen"),
    ("1,250 people", "1.250 Leute"),
    ("1,250 people", "1250 Leute"),
    ("1,250 people", "1,250 Leute"),
    ("15 000 or 15,000", "15.000 oder 15 000"),
    ("7.4%", "7,4 %"),
    ("7.4 percent", "7,4 Prozent"),
    ("25% of them", "ein Viertel davon"),
    ("12 eggs", "zwölf Eier"),
    ("twelve eggs", "12 Eier"),
    ("100 years", "hundert Jahre"),
    ("a thousand years", "1000 Jahre"),
    ("1 kilo for $1", "ein Kilo für einen Dollar"),
    ("a kilo", "1 Kilo"),
    ("1,500 head of cattle", "anderthalbtausend Rinder"),
    ("a 10-year-old boy", "ein zehnjähriger Junge"),
    ("the 2nd of them", "der zweite von ihnen"),
    ("in the 1990s", "in den 1990er Jahren"),
    ("in the 1990s", "in den neunziger Jahren"),
    ("in the '90s", "in den 90ern"),
    ("the 1800s", "das 19. Jahrhundert"),
    ("the summer of '68", "der Sommer 1968"),
    ("$2 million", "2 Mio. Dollar"),
    ("$2 million", "2 Millionen Dollar"),
    ("$2.5m", "2.500.000 Dollar"),
    ("1.7m people", "1,7 Millionen Menschen"),
    ("2 to 3 million", "2 Millionen bis 3 Millionen"),
    ("6:45 pm", "18:45 Uhr"),
    ("at 6 pm", "um 18 Uhr"),
    ("at 7", "um sieben Uhr"),
    ("half past three", "15:30 Uhr"),
    ("at 3:30", "um halb vier"),
    ("at 10.30", "um halb elf"),
    ("8.30 a.m.", "8 Uhr 30"),
    ("July 12, 1989", "12. Juli 1989"),
    ("July 12, 1989", "12.7.1989"),
    ("12/07/1989", "am 12. Juli 1989"),
    ("August 25th", "am 25.8. um"),
    ("30 minutes", "eine halbe Stunde"),
    ("half an hour", "30 Minuten"),
    ("World War II", "der 2. Weltkrieg"),
    ("CO₂", "CO2"),
    ("won 3-1", "gewann 3:1"),
    ("1/2 cup", "eine halbe Tasse"),
    ("5 of them, and 5 again", "5 davon, und wieder 5, also 5"),  # repeated
    ("Python 3.10", "Python 3.10"),
    ("+49 30 1234567", "+49 30 1234567"),
]


@pytest.mark.parametrize(("english", "german"), KEPT)
def test_equal_numbers(english: str, german: str) -> None:
    assert changes(english, german) == []
    if "again" not in english:
        assert changes(german, english, "de-en") == []


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("It costs $120.", "Es kostet 1 Dollar.", [("$120", "1")]),
        ("It rose 7.4%.", "Es stieg um 74 %.", [("7.4%", "74 %")]),
        ("It rose 7.4%.", "Es stieg um 7 4 %.", [("7.4%", "7"), (None, "4 %")]),
        ("1,250 people", "1,25 Leute", [("1,250", "1,25")]),
        ("10,000 people", "1.000 Leute", [("10,000", "1.000")]),
        ("He is 47.", "Er ist 4.", [("47", "4")]),
        ("He has 47 cats.", "Er hat Katzen.", [("47", None)]),
        ("He has cats.", "Er hat 47 Katzen.", [(None, "47")]),
        ("3 cats and 15 dogs", "3 Katzen und 16 Hunde", [("15", "16")]),
        ("5 of 5", "5", [("5", None)]),
        ("$2 million", "2 Dollar", [("$2 million", "2")]),
        ("3.5 million", "3,5 Milliarden", [("3.5", "3,5")]),
        ("chapter 1", "ein Kapitel", [("1", None)]),
        ("Python 3.10", "Python 3.1", [("3.10", "3.1")]),
        ("version 1.2.3", "Version 1.3.2", [("1.2.3", "1.3.2")]),
        ("July 12, 1989", "12. Juli 1998", [("1989", "1998")]),
        ("at 6:45 pm", "um 18:54 Uhr", [("6:45 pm", "18:54 Uhr")]),
        ("12/07/1989", "12.07.1988", [("12/07/1989", "12.07.1988")]),
        ("DE89 3704 0044 0532 0130 00", "DE89 3704 0044 532 0130 00", [("0532", "532")]),
        ("report A5-0293/2000", "Bericht A5-0293/000", [("0293/2000", "0293/000")]),
        ("call 555-1234", "ruf 555-123 an", [("1234", "123")]),
    ],
)
def test_changed_numbers(source: str, translation: str, expected: list[tuple[str | None, str | None]]) -> None:
    assert changes(source, translation) == expected


@pytest.mark.parametrize(
    ("pair", "source", "translation", "changed"),
    [
        ("en-de", "He left at 22:00.", "Er ging um 10:00 Uhr.", True),
        ("en-de", "at 10:00 and at 22:00", "um 10:00 Uhr und um 10:00 Uhr", True),
        ("en-fr", "at 9:15 and at 21:15", "à 9 h 15 et à 9 h 15", True),
        ("de-en", "um 18:45 Uhr", "at 6:45", True),
        ("de-en", "von 8:00 Uhr bis 20:00 Uhr", "from 8:00 to 8:00", True),
        ("en-de", "at 6:45 pm", "um 6:45 Uhr", True),
        ("de-en", "um 18:45 Uhr", "at 6:45 p.m.", False),
        ("de-en", "von 8:00 Uhr bis 20:00 Uhr", "from 8:00 a.m. to 8:00 p.m.", False),
        ("en-de", "at 6:45 pm", "um 6:45 Uhr abends", False),
        ("en-de", "at 3:30 in the afternoon", "um 15:30 Uhr", False),
        ("en-de", "at half past three", "um 15:30 Uhr", False),
        ("de-en", "um 20 Uhr", "at 8 in the evening", False),
        ("en-es", "at 6 pm", "a las 6 de la tarde", False),
        ("en-fr", "at 9:15 pm", "à 9 h 15 du soir", False),
    ],
)
def test_the_check_knows_24_hours(pair: str, source: str, translation: str, changed: bool) -> None:
    assert bool(changes(source, translation, pair)) == changed


def test_changes_compare_by_value() -> None:
    assert compare_numbers("$120", "1 $", "en", "de") == (NumberChange("$120", "1 $"),)


def test_figures_of_any_length() -> None:
    many = " ".join(map(str, range(20_000)))
    assert changes(many, many + " 777777") == [(None, "777777")]
    assert changes("9" * 5000, "9" * 4999) == [("9" * 5000, "9" * 4999)]


FIGURES = (
    "7|1,250.5|3.5 million|$120|6:45 pm|half past three|12/07/1989|1990s|3rd|50%|007|007 million|Python 3.11|"
    "2 to 3 million|'68|1/2|twelve|a|+49 30 1234567|MP3|.08|25.8.|18.45 Uhr|and|people|,|(|May"
)


@given(st.lists(st.sampled_from(FIGURES.split("|")), max_size=12), st.sampled_from(["en", "de"]))
def test_no_changes_between_equal_texts(words: list[str], language: str) -> None:
    text = " ".join(words)
    assert compare_numbers(text, text, language, language) == ()


@given(st.text(alphabet="0123456789.,:/ -+(%$€£'ampUhr", max_size=60), st.sampled_from(["en", "de", "fr"]))
def test_no_changes_between_equal_random_texts(text: str, language: str) -> None:
    assert compare_numbers(text, text, language, language) == ()


@given(st.integers(min_value=3, max_value=10**7), st.integers(min_value=3, max_value=10**7))
def test_a_different_number_is_detected(one: int, other: int) -> None:
    lost = compare_numbers(f"They have {one:,} of them.", f"Sie haben {other:,} davon.".replace(",", "."), "en", "de")
    assert bool(lost) == (one != other)


@pytest.mark.parametrize(
    ("pair", "source", "translation"),
    [
        ("en-fr", "It costs €1,234.56.", "Cela coûte 1\u202f234,56\u00a0€."),
        ("en-fr", "It costs €1,234.56.", "Cela coûte 1 234,56 €."),
        ("de-it", "Das kostet 1.234,56 €.", "Questo costa 1.234,56 €."),
        ("en-es", "It costs $1,234.56.", "Cuesta 1.234,56 $."),
        ("en-nl", "It costs €1,234.56.", "Het kost € 1.234,56."),
        ("en-pt", "It rose 7.4%.", "Subiu 7,4%."),
        ("en-fr", "90 people", "quatre-vingt-dix personnes"),
        ("en-fr", "97 people in 1984", "nonante-sept personnes en mille neuf cent quatre-vingt-quatre"),
        ("en-es", "2 billion people", "dos mil millones de personas"),
        ("en-es", "2 billion people", "2 mil millones de personas"),
        ("en-es", "20%", "un veinte por ciento"),
        ("en-pt", "20%", "vinte por cento"),
        ("en-it", "20%", "il venti per cento"),
        ("en-fr", "20%", "vingt pour cent"),
        ("de-fr", "im 21. Jahrhundert", "au XXIe siècle"),
        ("de-fr", "das 17. Jahrhundert", "le dix-septième siècle"),
        ("en-es", "1,200 people", "mil doscientas personas"),
        ("en-it", "2.3 million", "due milioni e trecentomila"),
        ("de-nl", "25 Kinder", "vijfentwintig kinderen"),
        ("en-pt", "2 million", "dois milhões"),
        ("en-fr", "$2.5m", "2,5 millions de dollars"),
        ("en-nl", "€2.5m", "€ 2,5 miljoen"),
        ("en-it", "€2.5bn", "2,5 mld €"),
        ("en-fr", "July 12, 1989", "le 12 juillet 1989"),
        ("en-es", "12/07/1989", "12 de julio de 1989"),
        ("de-pt", "am 12.7.1989", "em 12 de julho de 1989"),
        ("en-fr", "6:45 pm", "à 18 h 45"),
        ("en-pt", "6:45 pm", "às 18h45"),
        ("en-nl", "at 7:30", "om half acht"),
        ("en-es", "at 7:30", "a las siete y media"),
        ("de-fr", "um halb acht", "à 7 h 30"),
        ("en-it", "at 7:45", "alle otto meno un quarto"),
        ("en-fr", "30 minutes", "une demi-heure"),
        ("en-fr", "2 weeks", "quinze jours"),
        ("en-es", "the 21st century", "el siglo XXI"),
        ("en-fr", "the 21st century", "le 21e siècle"),
        ("en-fr", "in the 1990s", "dans les années 90"),
        ("en-es", "2 to 3 million", "de 2 a 3 millones"),
        ("fr-nl", "1 234 567 habitants", "1.234.567 inwoners"),
    ],
)
def test_equal_numbers_in_other_languages(pair: str, source: str, translation: str) -> None:
    assert changes(source, translation, pair) == []
    assert changes(translation, source, "-".join(reversed(pair.split("-")))) == []


@pytest.mark.parametrize(
    ("pair", "source", "translation", "expected"),
    [
        ("en-fr", "97 people", "quatre-vingt-sept personnes", [("97", None)]),
        ("en-fr", "It costs €1,234.56.", "Cela coûte 1,23 €.", [("€1,234.56", "1,23 €")]),
        ("en-es", "2 billion people", "2 millones de personas", [("2", "2")]),
        ("en-it", "1,500 people", "centocinquanta persone", [("1,500", None)]),
        ("en-nl", "at 7:30", "om half negen", [("7:30", None)]),
        ("en-pt", "12/07/1989", "12 de julho de 1998", [("12/07/1989", "1998")]),
        ("de-fr", "um 18:45 Uhr", "à 18 h 54", [("18:45 Uhr", "18 h 54")]),
    ],
)
def test_changed_numbers_in_other_languages(
    pair: str, source: str, translation: str, expected: list[tuple[str | None, str | None]]
) -> None:
    assert changes(source, translation, pair) == expected
