"""English clock times: 6:45 pm, 8 o'clock, half past three, a quarter to eight, ten past five."""

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

_NAMES = number_names("en")
_HOUR = any_of(_NAMES, 1, 12)
_HOUR_WORD = "|".join(number_word(n, "en") for n in range(1, 13))
_MINUTE_WORD = "|".join(sorted((number_word(n, "en") for n in range(10, 60)), key=len, reverse=True))
_HALF_DAY = r"(?:[ap]\.\s?m\b\.?|[ap]m\b)"
# What may follow a time: the end, punctuation, or a word that continues the sentence; not a counted noun, as in "ten to
# twelve people".
_REST = (
    r"(?=\s?(?:$|[.,;:!?)\]\"”’–—-]|(?:in|at|on|when|and|but|or|o['’]clock|today|tomorrow|tonight|yesterday|this|sharp|"
    r"already|now|so|because|by|for|until|till|as|we|i|you|he|she|they|it|the|every|each|if|before|after|[ap]\.?m)\b))"
)
# Every text with a time contains one of these; checking for them takes a tenth of the time of `_time`.
_HINTS = (
    ":",
    "clock",
    "past",
    "quarter",
    "minute",
    "ten to",
    "five to",
    "twenty to",
    "ten till",
    "five till",
    "twenty till",
)
_HALF_DAY_HINT = re.compile(r"[\dntexrvy]\s?[ap]\.?\s?m\b")
_SPOKEN_HINT = re.compile(rf"(?:{_HOUR_WORD})[\s-](?:{_MINUTE_WORD})")
_AT = r"at|by|until|till?|it['’]?s|it\sis|it\swas|is\sit|was\sit"
_END = re.compile(r"[\"'”’)\]\s]*$")
_JUST = r"(?:\s(?:about|around|almost|nearly|exactly|just|already|only|now))?"
# Bare figures (6:45) are a time after such a word or at the start, not in "John 3:16" or "a ratio of 1:20".
_BEFORE_FIGURES = re.compile(
    rf"(?:\b(?:{_AT}|from|before|after|since|around|about|between|the){_JUST}\s|^\W*)$", re.IGNORECASE
)
# "ten to five" is a time after such a word; "from ten to five" is not.
_BEFORE_MINUTES = re.compile(rf"\b(?:{_AT}){_JUST}\s$", re.IGNORECASE)


@cache
def _time() -> re.Pattern[str]:
    """Return the pattern of a clock time. Compiled on first use: that takes as long as translating a sentence."""
    return re.compile(
        rf"""(?<![\w:.,/$€£-])(?:
      half\spast\s(?P<half_past>{_HOUR})\b
    | (?:a\s)?quarter\s(?P<quarter>past|after|to|before|till?)\s(?P<quarter_hour>{_HOUR})\b{_REST}
    | (?P<minutes>{any_of(_NAMES, 1, 29)})(?P<unit>\sminutes?)?\s(?P<side>past|after|to|before|till?)\s
      (?P<minutes_hour>{_HOUR})\b{_REST}
    | (?P<spoken_hour>{_HOUR_WORD})[\s-](?P<spoken_minute>{_MINUTE_WORD})\b{_REST}
    | (?P<clock>{_HOUR}|{DIGITAL_HOUR})\so['’]clock\b
    | (?P<hour>{_HOUR})(?:[:.](?P<minute>[0-5]\d))?(?=\s?{_HALF_DAY})
    | (?P<bare_hour>{DIGITAL_HOUR}):(?P<bare_minute>[0-5]\d){NOT_A_TIME}
    )(?:\s?(?P<half_day>{_HALF_DAY}))?""",
        re.VERBOSE | re.IGNORECASE,
    )


def find(text: str) -> Iterator[ClockTime]:
    """Yield the clock times in an English text."""
    small = text.lower()
    if not (any(hint in small for hint in _HINTS) or _HALF_DAY_HINT.search(small) or _SPOKEN_HINT.search(small)):
        return
    end = -1
    for match in _time().finditer(text):
        start, stop = match.span()
        before = max(0, start - 24), start
        style: TimeStyle = "phrase"
        minute = 0
        if name := match["half_past"]:
            minute = 30
        elif name := match["quarter_hour"]:
            minute = 15
        elif name := match["minutes_hour"]:
            minute = _value(match["minutes"])
            sure = match["unit"] or match["side"].lower() == "past"
            if not sure and (minute % 5 or not _BEFORE_MINUTES.search(text, *before)):
                continue
        elif name := match["spoken_hour"]:  # "at six-thirty"
            minute = _value(match["spoken_minute"])
            style = "digital" if minute % 5 else "phrase"
            if not _BEFORE_FIGURES.search(text, *before) and not match["half_day"]:
                continue
        elif name := match["clock"]:
            style = "hour"
        elif name := match["hour"]:
            style = "digital" if match["minute"] else "hour"
            minute = int(match["minute"] or 0)
        else:
            name, minute, style = match["bare_hour"], int(match["bare_minute"]), "digital"
            linked = end >= 0 and LINK.fullmatch(text, end, start)
            if not match["half_day"] and not linked and not _BEFORE_FIGURES.search(text, *before):
                continue
        hour = _value(name)
        if (match["quarter"] or match["side"] or "past").lower() not in ("past", "after"):
            hour, minute = twelve(hour - 1), 60 - minute
        period: Period | None = None
        if (half := match["half_day"]) and hour <= 12:
            period = "am" if half[0] in "aA" else "pm"
            hour = hour % 12 + (12 if period == "pm" else 0)
        elif not 1 <= hour <= 12 or (style == "digital" and name[0] == "0"):
            period = "24h"
        if text[stop - 1] == "." and _END.match(text, stop):
            stop -= 1  # the full stop of the sentence
        yield ClockTime((start, stop), text[start:stop], "en", hour, minute, period, style, not name.isdigit())
        end = stop


def _value(name: str) -> int:
    return _NAMES[re.sub(r"\s", " ", name.lower())]


def phrase_time(hour: int, minute: int, spelled: bool) -> str:
    """Return the idiomatic phrase for a time: half past three."""
    this, following = (number_word(twelve(each), "en", spelled) for each in (hour, hour + 1))
    match minute:
        case 0:
            return f"{this} o'clock"
        case 15:
            return f"a quarter past {this}"
        case 30:
            return f"half past {this}"
        case 45:
            return f"a quarter to {following}"
    count = minute if minute < 30 else 60 - minute
    unit = "" if count % 5 == 0 else " minute" if count == 1 else " minutes"
    return f"{number_word(count, 'en')}{unit} " + (f"past {this}" if minute < 30 else f"to {following}")


def patterns(hours: str, names: str, hour: int, minute: int) -> Iterator[str]:
    """Yield patterns for the translation of a time shown in digits; `hours` and `names` are patterns for its hour."""
    half = r"(?:\s?(?:[ap]\.\s?m\b(?:\.(?!\s*$))?|[ap]m\b))"
    clock = r"(?:\so['’]clock)"
    yield rf"(?:{hours}|{names})[:.]{minute:02}(?:\shours\b)?{clock}?{half}?"
    if minute == 0:
        yield rf"(?:{hours}|{names})(?:{clock}{half}?|{half})"
        yield "noon|midnight" if twelve(hour) == 12 else r"(?!)"
    for spelled in (True, False):
        phrase = phrase_time(hour, minute, spelled)
        yield f"(?:a )?{phrase.removeprefix('a ')}"
