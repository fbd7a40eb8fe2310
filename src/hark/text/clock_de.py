"""German clock times: 18:45 Uhr, um 8 Uhr 30, halb vier, Viertel vor acht, fünf vor halb neun, drei viertel acht."""

import re
from collections.abc import Iterator
from functools import cache

from hark.text.clocktime import (
    DIGITAL_HOUR,
    LINK,
    NOT_A_TIME,
    ClockTime,
    Period,
    TimeStyle,
    any_of,
    number_names,
    number_word,
    twelve,
)

_NAMES = number_names("de") | {"zwo": 2, "dreissig": 30}
_MINUTE = any_of(_NAMES, 1, 59)
_FEW_MINUTES = any_of(_NAMES, 1, 29)
_NAMES["ein"] = 1  # only for an hour; as minutes it would match "um sechs Uhr ein"
_HOUR, _HOUR_OF_DAY = any_of(_NAMES, 1, 12), any_of(_NAMES, 0, 24)
_NAMES["eine"] = 1  # eine Minute
# Not a counted noun, as in "zehn vor zwei Jahren", and not part of a longer figure.
_REST = r"\b(?![:/%]|[.,]\d)(?!\s(?!Uhr\b)(?-i:[A-ZÄÖÜ])\w)(?:\sUhr\b)?"
# Every text with a time contains one of these.
_HINTS = (":", "uhr", "halb ", "viertel ")
_MINUTES_HINT = re.compile(r"[fnigeflsr0-9](?: minuten?)? (?:vor|nach) [0-9ezdvfsan]")
_BEFORE_FIGURES = re.compile(
    r"(?:\b(?:um|gegen|ab|bis|seit|von|vor|nach|zwischen|ca\.|circa|etwa|heute|morgen|gestern|schon|erst)\s|^\W*)$",
    re.IGNORECASE,
)
_BEFORE_QUARTER = re.compile(r"\b(?:um|gegen|ist|war|bis|seit|ab|vor|nach|schon|erst)\s$", re.IGNORECASE)


@cache
def _time() -> re.Pattern[str]:
    """Return the pattern of a clock time. Compiled on first use: that takes as long as translating a sentence."""
    return re.compile(
        rf"""(?<![\w:.,/$€£-])(?:
      (?P<minutes>{_FEW_MINUTES}|eine(?=\sMinute))(?:\sMinuten?)?\s(?P<side>vor|nach)\s
      (?P<half>halb\s)?(?P<minutes_hour>{_HOUR}){_REST}
    | halb\s(?P<half_hour>{_HOUR})\b(?![:/%]|[.,]\d)(?:\sUhr\b)?
    | (?P<quarter>drei\s?viertel|viertel)\s(?:(?P<quarter_side>vor|nach)\s)?(?P<quarter_hour>{_HOUR}){_REST}
    | (?P<hour>{_HOUR_OF_DAY})(?:[:.](?P<minute>[0-5]\d))?\s?Uhr\b(?:\s(?P<late>{_MINUTE}){_REST})?
    | (?P<bare_hour>{DIGITAL_HOUR}):(?P<bare_minute>[0-5]\d){NOT_A_TIME}
    )""",
        re.VERBOSE | re.IGNORECASE,
    )


def find(text: str) -> Iterator[ClockTime]:
    """Yield the clock times in a German text."""
    small = text.lower()
    if not any(hint in small for hint in _HINTS) and not _MINUTES_HINT.search(small):
        return
    end = -1
    for match in _time().finditer(text):
        start, stop = match.span()
        before = max(0, start - 24), start
        style: TimeStyle = "phrase"
        minute = 0
        if name := match["minutes_hour"]:
            minute = _NAMES[match["minutes"].lower()] * (-1 if match["side"].lower() == "vor" else 1)
            minute -= 30 if match["half"] else 0
        elif name := match["half_hour"]:
            minute = -30
        elif name := match["quarter_hour"]:
            if match["quarter_side"]:
                minute = -15 if match["quarter_side"].lower() == "vor" else 15
            elif match["quarter"].lower() != "viertel":  # drei viertel acht: three quarters of the way from seven
                minute = -15
            elif _BEFORE_QUARTER.search(text, *before):
                minute = -45
            else:
                continue
        elif name := match["hour"]:
            late = match["minute"] or match["late"]
            minute = _NAMES[late.lower()] if late else 0
            style = "digital" if late else "hour"
        else:
            name, minute, style = match["bare_hour"], int(match["bare_minute"]), "digital"
            linked = end >= 0 and LINK.fullmatch(text, end, start)
            if not linked and not _BEFORE_FIGURES.search(text, *before):
                continue
        hour = _NAMES[name.lower()]
        if style == "phrase":
            hour, minute = (hour, minute) if minute >= 0 else (twelve(hour - 1), 60 + minute)
        known = not 1 <= hour <= 12 or (style == "digital" and name[0] == "0")
        period: Period | None = "24h" if known else None
        yield ClockTime((start, stop), text[start:stop], "de", hour % 24, minute, period, style, not name.isdigit())
        end = stop


def phrase_hour(hour: int, spelled: bool) -> str:
    """Return a full hour: acht Uhr, 18 Uhr."""
    return f"{'ein' if spelled and hour == 1 else number_word(hour, 'de', spelled)} Uhr"


def phrase_time(hour: int, minute: int, spelled: bool) -> str:
    """Return the idiomatic phrase for a time: halb vier."""
    this, following = (number_word(twelve(each), "de", spelled) for each in (hour, hour + 1))
    match minute:
        case 0:
            return phrase_hour(twelve(hour), spelled)
        case 15:
            return f"Viertel nach {this}"
        case 25:
            return f"fünf vor halb {following}"
        case 30:
            return f"halb {following}"
        case 35:
            return f"fünf nach halb {following}"
        case 45:
            return f"Viertel vor {following}"
    count = minute if minute < 30 else 60 - minute
    number = number_word(count, "de") + ("" if count % 5 == 0 else " Minuten")
    number = "eine Minute" if count == 1 else number
    return f"{number} nach {this}" if minute < 30 else f"{number} vor {following}"


def patterns(hours: str, names: str, hour: int, minute: int) -> Iterator[str]:
    """Yield patterns for the translation of a time shown in digits; `hours` and `names` are patterns for its hour."""
    names += "|ein" if twelve(hour) == 1 else ""
    late = rf"\s(?:{minute:02}|{number_word(minute, 'de')})\b"
    yield rf"(?:{hours}|{names})[:.]{minute:02}(?:\s?Uhr\b(?:{late})?)?"
    yield rf"(?:{hours}|{names})\s?Uhr\b" + (late if minute else "")
    for spelled in (True, False):
        yield phrase_time(hour, minute, spelled)
