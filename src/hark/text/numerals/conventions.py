"""The number conventions of a language: separators, number words, scales, ordinals, months."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

Amount = int | Decimal


def table(*groups: tuple[Amount, str]) -> dict[str, Amount]:
    """Build a mapping from words to values."""
    return {word: value for value, words in groups for word in words.split()}


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


@dataclass(frozen=True)
class Numerals:
    """Number conventions of one language. Words are in lower case; `|` separates spellings of one number."""

    decimal: str
    thousands: str
    percent: str
    """The percent sign after a figure, with its space."""
    currency: str
    """The position of the currency {sign}."""
    ordinal: str
    """Suffix that makes a figure an ordinal; English has others for 1, 2 and 3."""
    ordinal_suffixes: frozenset[str]
    """All ordinal suffixes that are letters."""
    units: tuple[str, ...]
    """Zero to nineteen."""
    tens: tuple[str, ...]
    """Twenty to ninety."""
    fused: tuple[str, ...] = ()
    """Patterns that fuse a unit and a ten into one word, if any; {cut} is the ten without its last letter."""
    elision: tuple[str, str] | None = None
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
    ordinal_stems: tuple[str, str] | None = None
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
