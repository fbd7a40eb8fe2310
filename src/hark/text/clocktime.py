"""Clock times found in text, and the number words used to write them."""

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
"""Rules out durations, ratios and scores after figures such as 3:30."""
LINK = re.compile(r"\s?(?:-|–|to|and|or|till|until|bis|und|oder|,)\s?(?:at\s|um\s)?")
"""Links two times; the first shows that the second is a time too."""


@dataclass(frozen=True)
class ClockTime:
    """A clock time in a text."""

    span: Span
    text: str
    language: str
    hour: int
    """0 to 23 if the half of the day is known, else 1 to 12."""
    minute: int
    period: Period | None
    """How the half of the day is known: `am` or `pm` if stated, `24h` if it follows from the hour (18:45, 0:15)."""
    style: TimeStyle
    spelled: bool
    """Whether the hour is spelled out."""


def twelve(hour: int) -> int:
    """Return an hour of the day on a 12-hour clock."""
    return hour % 12 or 12


def number_word(number: int, language: str, spelled: bool = True) -> str:
    """Return a number from 0 to 59 in words, or in digits unless `spelled`."""
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
    """Return the numbers from 0 to 59 by their words and digits."""
    words = {number_word(n, language).replace("-", mark): n for n in range(60) for mark in "- "}
    return words | {str(n): n for n in range(60)} | {f"{n:02}": n for n in range(10)}


def any_of(names: dict[str, int], first: int, last: int) -> str:
    """Return a pattern for the numbers from first to last, in words or digits."""
    chosen = (name for name, n in names.items() if first <= n <= last)
    return "(?:" + "|".join(sorted(chosen, key=len, reverse=True)).replace(" ", r"\s") + ")"
