"""Times of day: found in English and German text, and written in the other language by rule.

"half past three" is "halb vier", and models get that wrong. So a model is shown the time in figures (`shown_time`),
which it copies; they are found in its translation (`time_pattern`) and replaced by what people say (`write_time`).
"""

import re
from functools import lru_cache

from hark.text import clock_de, clock_en
from hark.text.clocktime import ClockTime, number_word, twelve

_LANGUAGES = {"en": clock_en, "de": clock_de}
_APART_BEFORE, _APART_AFTER = r"(?<![\w:])(?<!\d[.,])", r"(?!\w|[.,:]\d)"


def find_times(text: str, language: str) -> tuple[ClockTime, ...]:
    """The times of day in a text, in order; none in a language without rules."""
    rules = _LANGUAGES.get(language[:2].lower())
    return tuple(rules.find(text)) if rules else ()


def write_time(time: ClockTime, target_language: str) -> str:
    """A time as the target language says it, in the style of the source; unchanged in a language without rules."""
    hour, minute = time.hour, time.minute
    target = target_language[:2].lower()
    if target == time.language or target not in _LANGUAGES:
        return time.text
    if time.style == "phrase" and not time.period:
        say = clock_de.say if target == "de" else clock_en.say
        return say(hour, minute, time.spelled)
    whole = time.style == "hour"
    if target == "de":
        return clock_de.say_hour(hour, time.spelled) if whole else f"{hour}:{minute:02} Uhr"
    if whole and not time.period:
        return clock_en.say(hour, 0, time.spelled)
    if whole and hour == 0:
        return "midnight"
    figures = str(twelve(hour)) if whole else f"{twelve(hour)}:{minute:02}"
    return f"{figures} {'a.m.' if hour < 12 else 'p.m.'}" if time.period else figures


def shown_time(time: ClockTime) -> str:
    """What a model is shown in place of a time, so that it translates the sentence around it.

    It need not be the time itself, only one that models copy. English hours of which nothing more is known are shown as
    those of the afternoon: 3:30 came out as "halb drei", 15:30 does not. A minute of two equal digits is shown as a
    later one: more than half of the sentences with 11:55 came out with 11:5 or 11:555.
    """
    hour = time.hour % 12 + 12 if time.language == "en" and not time.period else time.hour
    return f"{hour}:{_shown_minute(time.minute):02}" + (" Uhr" if time.language == "de" else "")


def _shown_minute(minute: int) -> int:
    return minute + 2 if minute and minute % 11 == 0 else minute


def time_pattern(time: ClockTime, target_language: str) -> re.Pattern[str]:
    """What a shown time looks like in a translation, without its preposition.

    It takes in the full stop after it where the time that is written ends with one itself ("6 p.m.").
    """
    target = target_language[:2].lower()
    if target not in _LANGUAGES:
        return re.compile(rf"{_APART_BEFORE}{re.escape(shown_time(time))}{_APART_AFTER}")
    return _pattern(time.hour, time.minute, target, write_time(time, target).endswith("."))


@lru_cache(maxsize=1024)
def _pattern(hour: int, minute: int, target: str, takes_stop: bool) -> re.Pattern[str]:
    same = {hour, twelve(hour), hour % 12, hour % 12 + 12}
    hours = "0?(?:" + "|".join(map(str, sorted(same, reverse=True))) + ")"
    names = "|".join(sorted(number_word(each, target) for each in same))
    minutes = sorted({minute, _shown_minute(minute)})
    ways = "|".join(way for each in minutes for way in _LANGUAGES[target].ways(hours, names, hour, each))
    stop = r"(?:\.(?!\w))?" if takes_stop else ""
    return re.compile(rf"{_APART_BEFORE}(?:{ways}){stop}{_APART_AFTER}", re.IGNORECASE)
