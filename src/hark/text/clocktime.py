"""A time of day as a text says it, and the number words that languages say it with."""

import re
from dataclasses import dataclass
from typing import Literal

from hark.text.numerals import numerals_of
from hark.text.rewrite import Span

TimeStyle = Literal["digital", "hour", "phrase"]
"""6:45 pm; 8 o'clock or 6 pm; half past three."""
Period = Literal["am", "pm", "24h"]

DIGITAL_HOUR = r"(?:[01]?\d|2[0-3])"
NOT_A_TIME = (
    r"(?![\d:/%]|[.,]\d|\s?-?(?:min(?:ute)?s?|hours?|h|s|seconds?|ratio|aspect|score|win|lead|victory|defeat|"
    r"Minuten|Stunden|Sekunden|Sieg|Niederlage|Führung)\b)"
)
"""After figures such as 3:30: what makes them a duration, a ratio or a score."""
LINK = re.compile(r"\s?(?:-|–|to|and|or|till|until|bis|und|oder|,)\s?(?:at\s|um\s)?")
"""Between two times, of which the first shows that the second is one too."""


@dataclass(frozen=True)
class ClockTime:
    """A time of day in a text."""

    span: Span
    text: str
    language: str
    hour: int
    """0 to 23 where it is known which half of the day is meant, else 1 to 12."""
    minute: int
    period: Period | None
    """How that is known: `am` or `pm` is said, `24h` follows from the hour (18:45, 0:15, 08:30). None if it is not."""
    style: TimeStyle
    spelled: bool
    """Whether the hour is a word."""


def twelve(hour: int) -> int:
    """An hour of the day on the face of a clock."""
    return hour % 12 or 12


def number_word(number: int, language: str, spelled: bool = True) -> str:
    """A number from 0 to 59 in words, or in figures if it is not to be spelled."""
    if not spelled:
        return str(number)
    words = numerals_of(language)
    if number < 20:
        return words.units[number].split("|")[0]
    ten, unit = words.tens[number // 10 - 2].split("|")[0], number % 10
    if not unit:
        return ten
    name = words.units[unit].split("|")[-1]
    return words.fused[0].format(unit=name, ten=ten) if words.fused else f"{ten}-{name}"


def number_names(language: str) -> dict[str, int]:
    """The numbers from 0 to 59 by their words and figures."""
    words = {number_word(n, language).replace("-", mark): n for n in range(60) for mark in "- "}
    return words | {str(n): n for n in range(60)} | {f"{n:02}": n for n in range(10)}


def any_of(names: dict[str, int], first: int, last: int) -> str:
    """A pattern for the numbers from first to last, in words or figures."""
    chosen = (name for name, n in names.items() if first <= n <= last)
    return "(?:" + "|".join(sorted(chosen, key=len, reverse=True)).replace(" ", r"\s") + ")"
