"""Clock times in French, Spanish, Italian, Dutch and Portuguese: 18 h 45, las siete y media, half acht.

They are found in words and figures, and written in figures: words would have to agree with their article.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from hark.text.clocktime import DIGITAL_HOUR, ClockTime, Period, TimeStyle, twelve
from hark.text.numerals import numerals_of

_END = r"(?![\w:/%]|[.,]\d)"


@dataclass(frozen=True)
class ClockWords:
    """How a language writes clock times. Patterns have the groups hour, minute, past, to, late, half and side."""

    before: str
    """What precedes a time, without its last space; other figures and words are not times."""
    forms: tuple[str, ...]
    """Patterns of times; {hour} is an hour in words or figures, {minutes} a number of minutes in words."""
    minutes: Mapping[str, int]
    whole: str
    """How a full hour is written."""
    exact: str
    """How hours and minutes are written."""


def _table(text: str) -> Mapping[str, int]:
    return {word.replace("_", " "): int(value) for word, value in (each.split("=") for each in text.split())}


_FIGURES = rf"(?P<hour>{DIGITAL_HOUR})[:.](?P<minute>[0-5]\d)"
WORDS: Mapping[str, ClockWords] = {
    "fr": ClockWords(
        before=r"à|vers|avant|après|dès|jusqu['’]à|depuis|est|était|entre|et|de",
        forms=(
            r"(?P<hour>{hour})\s?(?:h|heures?)(?:\s(?P<past>et\s(?:demie?|quart))|\smoins\s(?P<to>{minutes}))",
            rf"(?P<hour>{DIGITAL_HOUR})\s?(?:h|heures?)\s?(?P<minute>[0-5]\d)",
            r"(?P<hour>{hour})\sheures?\s(?P<late>{minutes})",
            r"(?P<hour>{hour})\s?(?:h|heures?)(?!\s(?:de|d['’]|par|plus))",
            rf"(?P<hour>{DIGITAL_HOUR}):(?P<minute>[0-5]\d)",
        ),
        minutes=_table("et_demie=30 et_demi=30 et_quart=15 le_quart=15 cinq=5 dix=10 vingt=20 vingt-cinq=25"),
        whole="{hour}\u00a0h",
        exact="{hour}\u00a0h\u00a0{minute:02}",
    ),
    "es": ClockWords(
        before=r"las?",
        forms=(
            r"(?P<hour>{hour})\sy\s(?P<past>{minutes})",
            r"(?P<hour>{hour})\smenos\s(?P<to>{minutes})",
            rf"{_FIGURES}(?:\s?h(?:oras)?\b)?",
        ),
        minutes=_table("media=30 cuarto=15 cinco=5 diez=10 veinte=20 veinticinco=25"),
        whole="{hour}:00",
        exact="{hour}:{minute:02}",
    ),
    "it": ClockWords(
        before=r"(?:(?:al|dal|del)?le|ore)|(?:all|dall|l)['’](?=\w)",
        forms=(
            r"(?P<hour>{hour})\se\s(?P<past>{minutes})",
            r"(?P<hour>{hour})\smeno\s(?P<to>{minutes})",
            _FIGURES,
        ),
        minutes=_table("mezza=30 mezzo=30 un_quarto=15 tre_quarti=45 cinque=5 dieci=10 venti=20 venticinque=25"),
        whole="{hour}:00",
        exact="{hour}:{minute:02}",
    ),
    "nl": ClockWords(
        before=r"om|tot|vanaf|rond|voor|na|tegen|is|was|van|sinds|en",
        forms=(
            r"(?:(?P<late>{minutes})\s(?P<side>over|voor)\s)?(?P<half>half)\s(?P<hour>{hour})",
            r"(?P<late>kwart|{minutes})\s(?P<side>over|voor)\s(?P<hour>{hour})",
            rf"{_FIGURES}(?:\suur\b)?",
            r"(?P<hour>{hour})\suur",
        ),
        minutes=_table("kwart=15 vijf=5 tien=10 twintig=20"),
        whole="{hour} uur",
        exact="{hour}.{minute:02} uur",
    ),
    "pt": ClockWords(
        before=r"[àa]s?|das?|são|é|até|pelas",
        forms=(
            r"(?P<hour>{hour})(?:\shoras?)?\se\s(?P<past>{minutes})",
            rf"(?P<hour>{DIGITAL_HOUR})\s?[h:](?P<minute>[0-5]\d)",
            rf"(?P<hour>{DIGITAL_HOUR})h",
        ),
        minutes=_table("meia=30 quinze=15 um_quarto=15 cinco=5 dez=10 vinte=20"),
        whole="{hour}h",
        exact="{hour}h{minute:02}",
    ),
}


@lru_cache(maxsize=8)
def _names(language: str) -> dict[str, int]:
    """The hours from 1 to 12 in words."""
    units = numerals_of(language).units
    return {name: hour for hour in range(1, 13) for name in units[hour].split("|")}


@lru_cache(maxsize=8)
def _forms(language: str) -> tuple[re.Pattern[str], ...]:
    words = WORDS[language]
    hour = rf"{'|'.join(sorted(_names(language), key=len, reverse=True))}|{DIGITAL_HOUR}"
    minutes = "|".join(sorted(words.minutes, key=len, reverse=True)).replace(" ", r"\s")
    return tuple(
        re.compile(rf"{form.replace('{hour}', hour).replace('{minutes}', minutes)}{_END}", re.IGNORECASE)
        for form in words.forms
    )


@lru_cache(maxsize=8)
def _before(language: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{WORDS[language].before})(?:\s|(?<=['’]))", re.IGNORECASE)


def find(text: str, language: str) -> Iterator[ClockTime]:
    """Yield the clock times in a text."""
    end = 0
    for before in _before(language).finditer(text):
        start = before.end()
        match = next((found for form in _forms(language) if (found := form.match(text, start))), None)
        if match is not None and start >= end:
            yield _read(match, language)
            end = match.end()


def _read(match: re.Match[str], language: str) -> ClockTime:
    words = WORDS[language]
    groups = match.groupdict()
    name = match["hour"].lower()
    hour = int(name) if name.isdigit() else _names(language)[name]
    minute, style = 0, "hour"
    if groups.get("minute"):
        minute, style = int(match["minute"]), "digital"
    for part, sign in (("past", 1), ("to", -1), ("late", 1)):
        if spelled := groups.get(part):
            count = words.minutes[re.sub(r"\s", " ", spelled.lower())]
            minute, style = minute + sign * count, "phrase"
    if (groups.get("side") or "").lower() == "voor":
        minute = -minute
    if groups.get("half"):  # half acht is 7:30
        minute, style = minute - 30, "phrase"
    if minute < 0:
        hour, minute = (hour - 1 if hour > 12 else twelve(hour - 1)), minute + 60
    known = not 1 <= hour <= 12 or (style == "digital" and name[0] == "0")
    period: Period | None = "24h" if known else None
    kind: TimeStyle = "phrase" if style == "phrase" else "digital" if style == "digital" else "hour"
    return ClockTime(match.span(), match[0], language, hour % 24, minute, period, kind, not name.isdigit())


def write(time: ClockTime, language: str) -> str:
    """Write a time in figures."""
    words = WORDS[language]
    form = words.whole if time.style == "hour" or (time.style == "phrase" and not time.minute) else words.exact
    return form.format(hour=time.hour, minute=time.minute)


def patterns(hours: str, minute: int) -> Iterator[str]:
    """Yield patterns for the translation of a time shown in digits; `hours` is a pattern for its hour."""
    unit = r"(?:h|heures?|horas?|ore|uur)"
    yield rf"(?:{hours})\s?(?:[:.]|{unit}\s?(?:e\s)?){minute:02}(?:\s?{unit}\b)?"
    if not minute:
        yield rf"(?:{hours})\s?{unit}\b"
