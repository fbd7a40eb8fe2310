"""Numbers in digits: their spans and values."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.figures import Value, find_figures
from hark.text.numerals import LANGUAGES as CODES


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("No numbers here, not a one.", "en", []),
        ("7 of 1,250 people", "en", [("7", "integer", 7), ("1,250", "grouped", 1250)]),
        ("1.250 Leute, 12.345,67", "de", [("1.250", "grouped", 1250), ("12.345,67", "decimal", Decimal("12345.67"))]),
        ("12,345.67 and 1'250", "en", [("12,345.67", "decimal", Decimal("12345.67")), ("1'250", "grouped", 1250)]),
        ("15 000", "en", [("15 000", "grouped", 15000)]),
        ("1\u202f250\u202f000", "fr", [("1\u202f250\u202f000", "grouped", 1250000)]),
        ("He is 1,88 m tall", "en", [("1,88", "decimal", Decimal("1.88"))]),  # unambiguously the other convention
        ("Er ist 1.88 m groß", "de", [("1.88", "decimal", Decimal("1.88"))]),
        ("0.125 or 1.250", "en", [("0.125", "decimal", Decimal("0.125")), ("1.250", "decimal", Decimal("1.25"))]),
        ("up 7.4%, by 5 %", "en", [("7.4%", "percent", Decimal("7.4")), ("5 %", "percent", 5)]),
        ("$120, 120 €", "en", [("$120", "currency", 120), ("120 €", "currency", 120)]),
        ("EUR 1.250,50 oder 5 US$", "de", [("EUR 1.250,50", "currency", Decimal("1250.5")), ("5 US$", "currency", 5)]),
        ("£3.5m, $90-million", "en", [("£3.5m", "currency", 3500000), ("$90-million", "currency", 90000000)]),
        ("3,5 Mio. €", "de", [("3,5 Mio. €", "currency", 3500000)]),
        ("€1.250", "en", [("€1.250", "currency", 1250)]),  # prices do not have tenths of a cent ending in zero
        ("the 3rd of the 21st", "en", [("3rd", "ordinal", 3), ("21st", "ordinal", 21)]),
        ("am 3. Mai um 5.", "de", [("3.", "ordinal", 3), ("5", "integer", 5)]),
        ("in 1990, the 1990s", "en", [("1990", "integer", 1990), ("1990", "integer", 1990)]),
        ("1.2.3 at 192.168.0.1", "en", [("1.2.3", "version", (1, 2, 3)), ("192.168.0.1", "version", (192, 168, 0, 1))]),
        ("Python 3.11, section 4.2", "en", [("3.11", "version", Decimal("3.11")), ("4.2", "version", Decimal("4.2"))]),
        ("GDP 3.2%, UK 3.5 million", "en", [("3.2%", "percent", Decimal("3.2")), ("3.5", "version", Decimal("3.5"))]),
        ("12/07/1989", "en", [("12/07/1989", "date", (12, 7, 1989))]),
        ("2024-01-31", "en", [("2024-01-31", "date", (2024, 1, 31))]),
        ("am 12.7.1989 und 25.8.", "de", [("12.7.1989", "date", (12, 7, 1989)), ("25.8", "date", (25, 8))]),
        ("won 3:1, open 24/7", "en", [("3:1", "ratio", (3, 1)), ("24/7", "ratio", (24, 7))]),
        ("1990-1995", "en", [("1990", "integer", 1990), ("1995", "integer", 1995)]),
        ("10-20", "en", [("10", "integer", 10), ("20", "integer", 20)]),
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


def test_very_long_figures_are_codes() -> None:
    (figure,) = find_figures("9" * 10_000, "en")
    assert figure.value == "9" * 10_000
    (figure,) = find_figures("1.2" * 10_000, "en")
    assert isinstance(figure.value, str)


LANGUAGES = st.sampled_from(sorted(CODES))


@given(st.text(alphabet="0123456789.,:/ -+(%$€£ amkMio'", max_size=40), LANGUAGES)
def test_spans_are_in_order_for_any_text(text: str, language: str) -> None:
    end = 0
    for figure in find_figures(text, language):
        assert end <= figure.span[0] < figure.span[1]
        assert text[slice(*figure.span)] == figure.text
        end = figure.span[1]
