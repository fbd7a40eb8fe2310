"""Figures in the format of another language."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.figures import find_figures, localise, write_figure
from hark.text.numerals import LANGUAGES as CODES
from hark.text.numerals import numerals_of


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
        ("US$5m", "5 Mio. US$"),
        ("$2bn", "2 Mrd. $"),
        ("3rd", "3."),
        ("21st", "21."),
        ("12th", "12."),
    ],
)
def test_localise_both_ways(english: str, german: str) -> None:
    assert localise(english, "en", "de") == german
    assert localise(german, "de", "en") == english


@pytest.mark.parametrize(
    "text",
    [
        "1990", "10000", "v1.2.3", "192.168.0.1", "12/07/1989", "2024-01-31", "6:45", "3:1", "24/7", "+49 30 1234567",
        "007", "MP3", ".22 calibre", "in the 1990s", "Python 3.11", "-5", "120 people",
    ],
)  # fmt: skip
def test_figures_that_are_not_amounts_are_unchanged(text: str) -> None:
    assert localise(text, "en", "de") == text
    assert localise(text, "en", "fr") == text


def test_localise_a_sentence() -> None:
    assert localise("Up 7.4% to $2.5 million (1,250 each).", "en", "de") == "Up 7,4 % to 2,5 Mio. $ (1.250 each)."
    assert localise("2,5 % von 1.250,50 €", "de", "fr") == "2,5\u00a0% von 1\u202f250,50\u00a0€"
    assert localise("1,250.5", "en", "en-GB") == "1,250.5"


def test_a_figure_is_read_in_the_context_of_its_sentence() -> None:
    """By itself, 3.11 is a decimal number."""
    (figure,) = find_figures("Python 3.11 is out", "en")
    assert write_figure(figure, "en", "de") == "3.11"
    assert localise("3.11", "en", "de") == "3,11"


LANGUAGES = st.sampled_from(sorted(CODES))


def written(value: Decimal, language: str) -> str:
    grouped = f"{value:,}"
    numerals = numerals_of(language)
    return grouped.translate(str.maketrans({",": numerals.thousands, ".": numerals.decimal}))


@given(st.decimals(min_value=0, max_value=10**9, places=2), LANGUAGES, LANGUAGES)
def test_localise_keeps_the_value(value: Decimal, source: str, target: str) -> None:
    text = written(value, source)
    there = localise(text, source, target)
    assert there == written(value, target)
    assert [figure.value for figure in find_figures(there, target)] == [value]
    assert localise(there, target, source) == text


@given(st.text(alphabet="0123456789.,:/ -+(%$€£ amkMio'", max_size=40), LANGUAGES, LANGUAGES)
def test_localise_keeps_the_digits(text: str, source: str, target: str) -> None:
    digits = list(filter(str.isdigit, text))
    assert list(filter(str.isdigit, localise(text, source, target))) == digits
