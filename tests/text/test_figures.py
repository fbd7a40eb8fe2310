"""Numbers in figures: where they stand, what they are worth, and how another language writes them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.figures import Value, find_figures, localise, write_figure
from hark.text.numerals import NUMERALS


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("No numbers here, not a one.", "en", []),
        ("7 of 1,250 people", "en", [("7", "integer", 7), ("1,250", "grouped", 1250)]),
        ("1.250 Leute, 12.345,67", "de", [("1.250", "grouped", 1250), ("12.345,67", "decimal", Decimal("12345.67"))]),
        ("12,345.67 and 1'250", "en", [("12,345.67", "decimal", Decimal("12345.67")), ("1'250", "grouped", 1250)]),
        ("15 000 or 1\u202f250\u202f000", "en", [("15 000", "grouped", 15000), ("1\u202f250\u202f000", "grouped", 1250000)]),
        ("He is 1,88 m tall", "en", [("1,88", "decimal", Decimal("1.88"))]),  # the other convention, and no doubt
        ("Er ist 1.88 m groß", "de", [("1.88", "decimal", Decimal("1.88"))]),
        ("0.125 or 1.250", "en", [("0.125", "decimal", Decimal("0.125")), ("1.250", "decimal", Decimal("1.25"))]),
        ("up 7.4%, by 5 %", "en", [("7.4%", "percent", Decimal("7.4")), ("5 %", "percent", 5)]),
        ("$120, 120 €", "en", [("$120", "currency", 120), ("120 €", "currency", 120)]),
        ("EUR 1.250,50 oder 5 US$", "de", [("EUR 1.250,50", "currency", Decimal("1250.5")), ("5 US$", "currency", 5)]),
        ("£3.5m, $90-million", "en", [("£3.5m", "currency", 3500000), ("$90-million", "currency", 90000000)]),
        ("3,5 Mio. €", "de", [("3,5 Mio. €", "currency", 3500000)]),
        ("€1.250", "en", [("€1.250", "currency", 1250)]),  # no price has a tenth of a cent with a nought at the end
        ("the 3rd of the 21st", "en", [("3rd", "ordinal", 3), ("21st", "ordinal", 21)]),
        ("am 3. Mai um 5.", "de", [("3.", "ordinal", 3), ("5", "integer", 5)]),
        ("in 1990, the 1990s", "en", [("1990", "year", 1990), ("1990", "year", 1990)]),
        ("1.2.3 at 192.168.0.1", "en", [("1.2.3", "version", (1, 2, 3)), ("192.168.0.1", "version", (192, 168, 0, 1))]),
        ("Python 3.11, section 4.2", "en", [("3.11", "version", Decimal("3.11")), ("4.2", "version", Decimal("4.2"))]),
        ("GDP 3.2%, Germany 3.5 million", "en", [("3.2%", "percent", Decimal("3.2")), ("3.5", "decimal", Decimal("3.5"))]),
        ("12/07/1989, 2024-01-31", "en", [("12/07/1989", "date", (12, 7, 1989)), ("2024-01-31", "date", (2024, 1, 31))]),
        ("am 12.7.1989 und 25.8.", "de", [("12.7.1989", "date", (12, 7, 1989)), ("25.8", "date", (25, 8))]),
        ("won 3:1, open 24/7", "en", [("3:1", "ratio", (3, 1)), ("24/7", "ratio", (24, 7))]),
        ("+49 30 1234567", "de", [("+49 30 1234567", "phone", "49301234567")]),
        ("call 555-1234 or (030) 12 34 56", "en", [("555-1234", "phone", "5551234"), ("(030) 12 34 56", "phone", "030123456")]),
        ("1990-1995, 10-20", "en", [("1990", "year", 1990), ("1995", "year", 1995), ("10", "integer", 10), ("20", "integer", 20)]),
        ("MP3, B2B, agent 007", "en", [("3", "label", 3), ("2", "label", 2), ("007", "integer", "007")]),
        (".08 percent", "en", [(".08", "label", Decimal("0.08"))]),
    ],
)  # fmt: skip
def test_figures(text: str, language: str, expected: list[tuple[str, str, Value]]) -> None:
    figures = find_figures(text, language)
    assert [(figure.text, figure.kind, figure.value) for figure in figures] == expected
    for figure in figures:
        assert text[slice(*figure.span)] == figure.text
        assert figure.span[0] <= figure.digits[0] < figure.digits[1] <= figure.span[1]


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("7.4%", "7,4 %"),
        ("1.88 m", "1,88 m"),
        ("1,250", "1.250"),
        ("12,345.67", "12.345,67"),
        ("1,250,000", "1.250.000"),
        ("$120", "120 $"),
        ("€1,250.50", "1.250,50 €"),
        ("EUR 1,250.50", "EUR 1.250,50"),
        ("US$5.99", "5,99 US$"),
        ("£3.5m", "3,5 Mio. £"),
        ("$2bn", "2 Mrd. $"),
        ("3rd", "3."),
        ("21st", "21."),
        ("12th", "12."),
    ],
)
def test_localise_there_and_back(english: str, german: str) -> None:
    assert localise(english, "en", "de") == german
    assert localise(german, "de", "en") == english


@pytest.mark.parametrize(
    "text",
    [
        "1990", "10000", "v1.2.3", "192.168.0.1", "12/07/1989", "2024-01-31", "6:45", "3:1", "24/7", "+49 30 1234567", "007",
        "MP3", ".22 calibre", "in the 1990s", "Python 3.11", "-5", "120 people",
    ],
)  # fmt: skip
def test_what_is_no_amount_stays(text: str) -> None:
    assert localise(text, "en", "de") == text
    assert localise(text, "en", "fr") == text


def test_localise_a_sentence() -> None:
    assert (
        localise("It rose 7.4% to $2.5 million (1,250 pieces).", "en", "de")
        == "It rose 7,4 % to 2,5 Mio. $ (1.250 pieces)."
    )
    assert localise("2,5 % von 1.250,50 €", "de", "fr") == "2,5\u00a0% von 1\u202f250,50\u00a0€"
    assert localise("1,250.5", "en", "en-GB") == "1,250.5"


def test_a_figure_keeps_the_reading_of_its_sentence() -> None:
    """By itself, 3.11 is a decimal number."""
    (figure,) = find_figures("Python 3.11 is out", "en")
    assert write_figure(figure, "en", "de") == "3.11"
    assert localise("3.11", "en", "de") == "3,11"


def test_thousands_of_digits_are_a_code() -> None:
    (figure,) = find_figures("9" * 10_000, "en")
    assert figure.value == "9" * 10_000
    (figure,) = find_figures("1.2" * 10_000, "en")
    assert isinstance(figure.value, str)


LANGUAGES = st.sampled_from(sorted(NUMERALS))


def written(value: Decimal, language: str) -> str:
    grouped = f"{value:,}"
    numerals = NUMERALS[language]
    return grouped.translate(str.maketrans({",": numerals.thousands, ".": numerals.decimal}))


@given(st.decimals(min_value=0, max_value=10**9, places=2), LANGUAGES, LANGUAGES)
def test_localise_keeps_the_value(value: Decimal, source: str, target: str) -> None:
    text = written(value, source)
    there = localise(text, source, target)
    assert there == written(value, target)
    assert [figure.value for figure in find_figures(there, target)] == [value]
    assert localise(there, target, source) == text


@given(st.text(alphabet="0123456789.,:/ -+(%$€£ amkMio'", max_size=40), LANGUAGES)
def test_spans_are_in_order_whatever_the_text(text: str, language: str) -> None:
    end = 0
    for figure in find_figures(text, language):
        assert end <= figure.span[0] < figure.span[1]
        assert text[slice(*figure.span)] == figure.text
        end = figure.span[1]
    digits = "".join(filter(str.isdigit, text))
    assert "".join(filter(str.isdigit, localise(text, "en", "de"))) == digits
