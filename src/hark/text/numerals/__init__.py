"""Number conventions by language, one module each. A language without a module is treated as English."""

from collections.abc import Mapping

from hark.text.numerals.conventions import Amount, Numerals
from hark.text.numerals.dutch import DUTCH
from hark.text.numerals.english import ENGLISH
from hark.text.numerals.french import FRENCH
from hark.text.numerals.german import GERMAN
from hark.text.numerals.italian import ITALIAN
from hark.text.numerals.portuguese import PORTUGUESE
from hark.text.numerals.spanish import SPANISH

__all__ = ["NUMERALS", "Amount", "Numerals", "numerals_of"]

NUMERALS: Mapping[str, Numerals] = {
    "en": ENGLISH,
    "de": GERMAN,
    "fr": FRENCH,
    "es": SPANISH,
    "it": ITALIAN,
    "nl": DUTCH,
    "pt": PORTUGUESE,
}


def numerals_of(language: str) -> Numerals:
    """Return the entry of a language code, with or without a region (`de-AT`); English if there is none."""
    return NUMERALS.get(language) or NUMERALS.get(language.split("-")[0].lower(), ENGLISH)
