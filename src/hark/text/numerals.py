"""The number conventions of seven languages: separators, number words, scales, ordinals, months (numerals.toml)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

Amount = int | Decimal
LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pt")


@dataclass(frozen=True)
class Numerals:
    """Number conventions of one language."""

    decimal: str
    thousands: str
    percent: str
    """The percent sign after a figure, with its space."""
    currency: str
    """The position of the currency {sign}."""
    ordinal: str
    """Suffix that makes a figure an ordinal; English has others for 1, 2 and 3."""
    ordinal_suffixes: tuple[str, ...]
    """All ordinal suffixes that are letters."""
    units: tuple[str, ...]
    """Zero to nineteen."""
    tens: tuple[str, ...]
    """Twenty to ninety."""
    fused: tuple[str, ...] = ()
    """Patterns that fuse a unit and a ten into one word, if any; {cut} is the ten without its last letter."""
    elision: tuple[str, ...] = ()
    """Letters inside a fused number, and what they stand for: Italian centotto is cento-otto."""
    aliases: Mapping[str, Amount] = field(default_factory=dict)
    """Alternative words for cardinals: German zwo."""
    links: str = ""
    """Words between the parts of a number: `and` in "a hundred and ten"."""
    scales: Mapping[str, Amount] = field(default_factory=dict)
    """Words that multiply the figure or word before them. May be part of a longer word if `fused`. Several words count
    after a figure: 3 mil millones."""
    magnitudes: Mapping[str, Amount] = field(default_factory=dict)
    """Multipliers between an amount of money and its sign: `m` in £3.5m. The first of a value is used for writing."""
    ordinals: Mapping[str, Amount] = field(default_factory=dict)
    ordinal_stems: tuple[str, ...] = ()
    """Suffixes that turn a cardinal into an ordinal stem, below twenty and from twenty; `ordinals` has exceptions."""
    inflections: str = ""
    """Inflections of a stem, as a regular expression."""
    fractions: Mapping[str, Amount] = field(default_factory=dict)
    """Number words that are not cardinals: half, twice."""
    implied: Mapping[str, Amount] = field(default_factory=dict)
    """Words that may translate a figure but are not number words: a, both, noon."""
    implied_phrases: tuple[tuple[str, Amount], ...] = ()
    """The same for several words, as regular expressions: half an hour is 30 minutes."""
    endings: str = ""
    """What may follow a number word within a compound, as a regular expression: German zehn-jährig, drei-fach."""
    months: tuple[str, ...] = ()
    capital_months: bool = True
    """Whether months begin with a capital letter, as opposed to the English verb "may"."""


@lru_cache(maxsize=64)
def numerals_of(language: str) -> Numerals:
    """Return the entry of a language code, with or without a region (`de-AT`); English if there is none."""
    code = language.split("-")[0].lower()
    return _read()[code if code in LANGUAGES else "en"]


@cache
def _read() -> dict[str, Numerals]:
    tree = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    types = {each.name: str(each.type) for each in fields(Numerals)}
    return {code: Numerals(**{key: _parse(value, types[key]) for key, value in tree[code].items()}) for code in tree}


def _parse(value: Any, kind: str) -> Any:
    """Turn the text of a key into what `Numerals` has."""
    if "Mapping" in kind:
        return {word: value for value, words in _groups(value) for word in _spell_out(words)}
    if kind.startswith("tuple[tuple"):
        return tuple((phrase, value) for value, phrase in _groups(value))
    return tuple(value.split()) if kind.startswith("tuple") else value


def _groups(text: str) -> list[tuple[Amount, str]]:
    """Read "10 decade decades; 12 dozen dozens"."""
    groups = (group.split(" ", 1) for group in text.split("; "))
    return [(Decimal(value) if "." in value else int(float(value)), words) for value, words in groups]


def _spell_out(words: str) -> list[str]:
    return [
        word.replace("_", " ").replace("*", vowel)
        for word in words.split()
        for vowel in ("oaie" if "*" in word else "-")
    ]
