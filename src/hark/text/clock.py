"""Times of day: found in English and German text, and written in the other language by rule.

"half past three" is "halb vier", and models get that wrong. So a model is shown the time in figures (`shown_time`),
which it copies; they are found in its translation (`time_pattern`) and replaced by what people say (`write_time`).
"""

import re
from functools import lru_cache

from hark.text import clock_de, clock_en
from hark.text.clocktime import ClockTime, number_word, twelve

_LANGUAGES = {"en": clock_en, "de": clock_de}


def find_times(text: str, language: str) -> tuple[ClockTime, ...]:
    """The times of day in a text, in order; none in a language without rules."""
    rules = _LANGUAGES.get(language[:2].lower())
    return tuple(rules.find(text)) if rules else ()


def write_time(time: ClockTime, target_language: str) -> str:
    """A time as the target language says it, in the style of the source.

    It begins with a small letter, also where it begins a sentence. Unchanged in a language without rules.
    """
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
    """What a model is shown in place of a time, so that it translates the sentence around it."""
    figures = f"{time.hour}:{time.minute:02}"
    return f"{figures} Uhr" if time.language == "de" else figures


def time_pattern(time: ClockTime, target_language: str) -> re.Pattern[str]:
    """What a shown time looks like in a translation, without its preposition.

    It takes in the full stop after it where the time that is written ends with one itself ("6 p.m.").
    """
    target = target_language[:2].lower()
    return _pattern(time.hour, time.minute, target, write_time(time, target).endswith("."))


@lru_cache(maxsize=1024)
def _pattern(hour: int, minute: int, target: str, takes_stop: bool) -> re.Pattern[str]:
    rules = _LANGUAGES.get(target)
    if rules is None:
        return re.compile(rf"(?<![\w:])(?<!\d[.,])0?{hour}[:.]{minute:02}(?!\w|[.,:]\d)")
    same = {hour, twelve(hour), hour % 12, hour % 12 + 12}
    hours = "0?(?:" + "|".join(map(str, sorted(same, reverse=True))) + ")"
    names = "|".join(sorted(number_word(each, target) for each in same))
    ways = "|".join(rules.ways(hours, names, hour, minute))
    stop = r"(?:\.(?!\w))?" if takes_stop else ""
    return re.compile(rf"(?<![\w:])(?<!\d[.,])(?:{ways}){stop}(?!\w|[.,:]\d)", re.IGNORECASE)
