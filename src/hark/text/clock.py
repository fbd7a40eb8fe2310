"""Clock times: found in text, and written in the other language by rule.

"half past three" is "halb vier", which models get wrong. So the model sees the time in digits (`shown_time`), which it
copies; `time_pattern` finds them in the translation, and `write_time` gives the idiomatic replacement. English and
German have rules of their own (`clock_en`, `clock_de`), five languages share a table (`clock_words`).
"""

import re
from functools import lru_cache

from hark.text import clock_de, clock_en, clock_words
from hark.text.clocktime import ClockTime, number_word, twelve

_LANGUAGES = {"en": clock_en, "de": clock_de}
_APART_BEFORE, _APART_AFTER = r"(?<![\w:])(?<!\d[.,])", r"(?!\w|[.,:]\d)"


def find_times(text: str, language: str) -> tuple[ClockTime, ...]:
    """Return the clock times in a text, in order; none for a language without rules."""
    code = language[:2].lower()
    if code in clock_words.WORDS:
        return tuple(clock_words.find(text, code))
    rules = _LANGUAGES.get(code)
    return tuple(rules.find(text)) if rules else ()


def write_time(time: ClockTime, target_language: str) -> str:
    """Write a time in the target language, in the style of the source; unchanged for a language without rules."""
    hour, minute = time.hour, time.minute
    target = target_language[:2].lower()
    if target in clock_words.WORDS and target != time.language:
        return clock_words.write(time, target)
    if target == time.language or target not in _LANGUAGES:
        return time.text
    if time.style == "phrase" and not time.period:
        phrase = clock_de.phrase_time if target == "de" else clock_en.phrase_time
        return phrase(hour, minute, time.spelled)
    whole = time.style == "hour"
    if target == "de":
        return clock_de.phrase_hour(hour, time.spelled) if whole else f"{hour}:{minute:02} Uhr"
    if whole and not time.period:
        return clock_en.phrase_time(hour, 0, time.spelled)
    if whole and hour == 0:
        return "midnight"
    figures = str(twelve(hour)) if whole else f"{twelve(hour)}:{minute:02}"
    return f"{figures} {'a.m.' if hour < 12 else 'p.m.'}" if time.period else figures


def shown_time(time: ClockTime) -> str:
    """Return the digits shown to the model in place of a time.

    They need not be the time itself, only a time that models copy. English hours without a.m. or p.m. are shown as
    afternoon hours: 3:30 came out as "halb drei", 15:30 does not. A minute of two equal digits is shown as a later one:
    more than half of the sentences with 11:55 came out with 11:5 or 11:555.
    """
    hour = time.hour % 12 + 12 if time.language == "en" and not time.period else time.hour
    return f"{hour}:{_shown_minute(time.minute):02}" + (" Uhr" if time.language == "de" else "")


def _shown_minute(minute: int) -> int:
    return minute + 2 if minute and minute % 11 == 0 else minute


def time_pattern(time: ClockTime, target_language: str) -> re.Pattern[str]:
    """Return a pattern for a shown time in a translation, without its preposition.

    It includes the full stop after the time if the replacement ends with one ("6 p.m.").
    """
    target = target_language[:2].lower()
    if target not in _LANGUAGES and target not in clock_words.WORDS:
        return re.compile(rf"{_APART_BEFORE}{re.escape(shown_time(time))}{_APART_AFTER}")
    return _pattern(time.hour, time.minute, target, write_time(time, target).endswith("."))


@lru_cache(maxsize=1024)
def _pattern(hour: int, minute: int, target: str, takes_stop: bool) -> re.Pattern[str]:
    same = {hour, twelve(hour), hour % 12, hour % 12 + 12}
    hours = "0?(?:" + "|".join(map(str, sorted(same, reverse=True))) + ")"
    minutes = sorted({minute, _shown_minute(minute)})
    if target in clock_words.WORDS:
        forms = "|".join(form for each in minutes for form in clock_words.patterns(hours, each))
    else:
        names = "|".join(sorted(number_word(each, target) for each in same))
        forms = "|".join(form for each in minutes for form in _LANGUAGES[target].patterns(hours, names, hour, each))
    stop = r"(?:\.(?!\w))?" if takes_stop else ""
    return re.compile(rf"{_APART_BEFORE}(?:{forms}){stop}{_APART_AFTER}", re.IGNORECASE)
