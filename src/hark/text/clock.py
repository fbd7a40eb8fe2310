"""Clock times: found in a text, written in another language by rule, and found again in a translation.

"half past three" is "halb vier", which models get wrong, and they may turn 20:00 into 8:00. So the model sees a
`StandIn`, a time in figures that occurs once, even on a 12-hour clock; its `pattern` finds it in the translation, and
`write_time` gives what to write there. Figures stay figures, on the 24-hour clock if they were; times in words become
words in English and German, and figures elsewhere, where words would have to agree with their article.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from hark.text.numerals import numerals_of
from hark.text.rewrite import Span

TimeStyle = Literal["digital", "hour", "phrase"]
"""6:45 pm; 8 o'clock or 6 pm; half past three."""
Period = Literal["am", "pm", "24h"]

_DIGITAL = r"(?:[01]?\d|2[0-3])"
_FIGURES = rf"(?P<hour>{_DIGITAL})[:.](?P<minute>[0-5]\d)"
_START = r"(?<![\w:.,/$€£-])"
_NOT_A_TIME = (
    r"(?![\d:/%]|[.,]\d|\s?-?(?:min(?:ute)?s?|hours?|h|s|seconds?|ratio|aspect|score|win|lead|victory|defeat|"
    r"Minuten|Stunden|Sekunden|Sieg|Niederlage|Führung)\b)"
)
"""Rules out durations, ratios and scores after figures such as 3:30."""
_BARE = rf"(?P<hour>{_DIGITAL}):(?P<minute>[0-5]\d){_NOT_A_TIME}"
_LINK = re.compile(r"\s?(?:-|–|to|and|or|till|until|bis|und|oder|,)\s?(?:at\s|um\s)?")
"""Links two times; the first shows that the second is a time too."""
_HALF_DAY = r"(?:[ap]\.\s?m\b\.?|[ap]m\b)"
_FINAL = re.compile(r"[\"'”’)\]\s]*$")
_HOUR = re.compile(r"\d+")
_ANY_TIME = re.compile(r"(\d{1,2})[:.](\d\d)(?!\d)")
_UNIT = r"(?:h(?!\w*[^\W\d])|heures?|horas?|ore|uur|Uhr|hours|o['’]clock)"
_HALF_DAY_AT_END = r"(?:[ap]\.\s?m\b(?:\.(?!\s*$))?|[ap]m\b)"
_BEFORE_FIGURE, _AFTER_FIGURE = r"(?<![\w:])(?<!\d[.,])", r"(?!\w|[.,:]\d)"
_PARTS = {"quarter": 15, "viertel": 15, "viertel vor": 15, "drei viertel": 15, "dreiviertel": 15, "half": 30, "eine": 1}


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
    in_part: bool = False
    """Whether a part of the day follows: 8 Uhr abends."""


@dataclass(frozen=True)
class StandIn:
    """A time in figures that the model sees instead of another."""

    hour: int
    minute: int
    shown: str


@dataclass(frozen=True)
class _Clock:
    """How a language tells the time (clock.toml).

    The patterns of `forms` have the groups hour, minute (two digits), late, past and to (minutes in words), half (half
    an hour earlier), early (three quarters earlier) and half_day. A second pattern says what must precede the time.
    """

    hints: tuple[str, ...]
    """Every text with a time has one of these in lower case, which takes a tenth of the time of the forms..."""
    hint: str
    """...or else matches this."""
    part: str
    """Names of the parts of a day."""
    before: str
    """What precedes figures that are a time."""
    end: str
    """What may follow any time."""
    forms: Sequence[Sequence[str]]
    whole: str
    """How a full hour is written."""
    exact: str
    """How hours and minutes are written."""
    rest: str = ""
    """What may follow a time in words, lest it count something: ten to twelve people, zehn vor zwei Jahren."""
    minutes: Mapping[str, int] = field(default_factory=dict)
    """Numbers of minutes in words, if they are not the number words of the language."""

    def may_be_in(self, text: str) -> bool:
        """Whether a text may have a time: most have none."""
        small = text.lower()
        return any(hint in small for hint in self.hints) or re.search(self.hint, small) is not None


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_CLOCKS: Mapping[str, _Clock] = {code: _Clock(**table) for code, table in _TABLES.items()}
_NEXT_TO_PART = (
    r"(?:\sUhr)?,?\s(?:(?:am|in|at|du|de|della|di|da|van|['’]s)\s)?(?:(?:the|la|l['’]|dell['’]|de\sla)\s?)?(?:{part})\b"
)


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


def _any_of(names: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted(names, key=len, reverse=True)).replace(" ", r"\s") + ")"


class TimeReader:
    """Finds the clock times of a language. Made on first use: its patterns take as long as translating a sentence."""

    def __init__(self, language: str) -> None:
        clock, units = _CLOCKS[language], numerals_of(language).units
        self.language, self.clock = language, clock
        self.next_to_part = re.compile(_NEXT_TO_PART.format(part=clock.part), re.IGNORECASE)
        names = {name: hour for hour in range(1, 13) for name in units[hour].split("|")}
        self.minutes = clock.minutes
        if not clock.minutes:
            words = {number_word(n, language).replace("-", mark): n for n in range(60) for mark in "- "}
            names = {word: n for word, n in words.items() if n < 25} | names
            self.minutes = words | {f"{n:0{width}}": n for n in range(60) for width in (1, 2)} | _PARTS
        self.names = names
        hours = {name: n for name, n in names.items() if 1 <= n <= 12}
        figures = [str(n) for n in range(1, 13)] + [f"{n:02}" for n in range(1, 10)]
        small = [word for word, n in self.minutes.items() if word != "eine" and (0 < n < 30 or clock.minutes)]
        groups = {
            "{hour}": f"(?P<hour>{_any_of([*hours, *(figures if not clock.minutes else [_DIGITAL])])})",
            "{day}": f"(?P<hour>{_any_of([*names, _DIGITAL, '24'])})",
            "{name}": f"(?P<hour>{_any_of(hours)})",
            "{digital}": f"(?P<hour>{_DIGITAL})",
            "{minutes}": _any_of(small),
            "{sixty}": _any_of([word for word, n in self.minutes.items() if n >= (1 if language == "de" else 10)]),
        }
        groups |= {"{bare}": _BARE, "{figures}": _FIGURES, "{half_day}": _HALF_DAY}
        groups |= {"{rest}": clock.rest, "{before}": clock.before}

        def make(pattern: str) -> re.Pattern[str]:
            for name, part in groups.items():
                pattern = pattern.replace(name, part)
            return re.compile(pattern, re.IGNORECASE)

        self.forms = [(make(_START + form + clock.end), make("".join(before))) for form, *before in clock.forms]

    def find(self, text: str) -> Iterator[ClockTime]:
        """Yield the clock times of a text in order: where several forms match, the leftmost, and then the first."""
        found = [
            (match.start(), place, match, before)
            for place, (form, before) in enumerate(self.forms)
            for match in form.finditer(text)
        ]
        end = -1
        for start, _, match, before in sorted(found, key=lambda each: each[:2]):
            if start < end:
                continue
            linked = end >= 0 and _LINK.fullmatch(text, end, start)
            if before.pattern and not linked and not before.search(text, max(0, start - 24), start):
                continue
            time = self._read(match)
            yield time
            end = time.span[1]

    def _read(self, match: re.Match[str]) -> ClockTime:
        groups, text = match.groupdict(), match.string
        start, end = match.span()
        name = match["hour"].lower()
        hour = int(name) if name.isdigit() else self.names[name]

        def count(group: str) -> int:
            return self.minutes[re.sub(r"\s", " ", groups[group].lower())] if groups.get(group) else 0

        style: TimeStyle = "phrase"
        minute = (
            count("past") - count("to") + count("late") - 30 * bool(groups.get("half")) - 45 * bool(groups.get("early"))
        )
        if groups.get("minute"):
            minute, style = count("minute") if self.clock.minutes == {} else int(match["minute"]), "digital"
        elif not any(groups.get(group) for group in ("past", "to", "late", "half", "early")):
            style = "hour"
        elif groups.get("late") and minute % 5:
            style = "digital"
        if minute < 0:
            hour, minute = (hour - 1 if hour > 12 else twelve(hour - 1)), minute + 60
        period: Period | None = None
        if (half := groups.get("half_day")) and hour <= 12:
            period = "am" if half[0] in "aA" else "pm"
            hour = hour % 12 + (12 if period == "pm" else 0)
        elif not 1 <= hour <= 12 or (style == "digital" and name[0] == "0"):
            period = "24h"
        if text[end - 1] == "." and _FINAL.match(text, end):
            end -= 1  # the full stop of the sentence
        in_part = self.next_to_part.match(text, end) is not None
        return ClockTime(
            (start, end), text[start:end], self.language, hour % 24, minute, period, style, not name.isdigit(), in_part
        )


@lru_cache(maxsize=8)
def _reader(code: str) -> TimeReader:
    return TimeReader(code)


def find_times(text: str, language: str) -> tuple[ClockTime, ...]:
    """Return the clock times in a text, in order; none for a language without rules."""
    code = language[:2].lower()
    return tuple(_reader(code).find(text)) if code in _CLOCKS and _CLOCKS[code].may_be_in(text) else ()


def has_part_of_day(text: str, language: str) -> bool:
    """Whether a text names a part of the day, so that its 10:00 may be 22:00."""
    clock = _CLOCKS.get(language[:2].lower())
    return clock is not None and re.search(clock.part, text, re.IGNORECASE) is not None


def write_time(time: ClockTime, target_language: str) -> str:
    """Write a time in the target language, in the style of the source; unchanged for a language without rules."""
    target = target_language[:2].lower()
    if target == time.language or target not in _CLOCKS:
        return time.text
    clock, stated = _CLOCKS[target], time.period in ("am", "pm")
    if time.style == "phrase" and not time.period and target in _PHRASES:
        return _PHRASES[target](time.hour, time.minute, time.spelled)
    whole = time.style == "hour" or (time.style == "phrase" and not time.minute)
    if whole and target == "en" and time.period:
        return f"{time.hour}:00" if time.hour else "midnight"
    if whole:
        return clock.whole.format(hour=_hour_word(time.hour, target, time.spelled and target in _PHRASES))
    typed = _HOUR.match(time.text) if time.style == "digital" and not stated else None
    return clock.exact.format(hour=typed[0] if typed else time.hour, minute=time.minute)


def _hour_word(hour: int, language: str, spelled: bool) -> str:
    return "ein" if spelled and hour == 1 and language == "de" else number_word(hour, language, spelled)


def _phrase_en(hour: int, minute: int, spelled: bool) -> str:
    """The idiomatic English for a time: half past three."""
    this, following = (number_word(twelve(each), "en", spelled) for each in (hour, hour + 1))
    if minute == 0:
        return f"{this} o'clock"
    if minute == 30:
        return f"half past {this}"
    count = min(minute, 60 - minute)
    unit = "" if count % 5 == 0 else " minute" if count == 1 else " minutes"
    number = "a quarter" if count == 15 else number_word(count, "en") + unit
    return f"{number} past {this}" if minute < 30 else f"{number} to {following}"


def _phrase_de(hour: int, minute: int, spelled: bool) -> str:
    """The idiomatic German for a time: halb vier."""
    this, following = (number_word(twelve(each), "de", spelled) for each in (hour, hour + 1))
    if minute == 0:
        return f"{_hour_word(twelve(hour), 'de', spelled)} Uhr"
    if minute in (25, 30, 35):
        return {25: "fünf vor halb ", 30: "halb ", 35: "fünf nach halb "}[minute] + following
    count = min(minute, 60 - minute)
    number = "Viertel" if count == 15 else number_word(count, "de") + ("" if count % 5 == 0 else " Minuten")
    number = "eine Minute" if count == 1 else number
    return f"{number} nach {this}" if minute < 30 else f"{number} vor {following}"


_PHRASES: Mapping[str, Callable[[int, int, bool], str]] = {"en": _phrase_en, "de": _phrase_de}


def stand_ins(times: Sequence[ClockTime], text: str, target_language: str) -> Iterator[StandIn]:
    """Yield a time that the model sees in place of each, such that no two are the same, even on a 12-hour clock.

    Each is the time itself or a later hour. From English, hours are shown in the afternoon, and into English in the
    morning, for that is what models copy: they make "halb drei" of 3:30, but not of 15:30, and 10:00 of "21:00 Uhr".
    More than half of the sentences with 11:55 came out with 11:5 or 11:555.
    """
    used = {
        (int(other[1]) % 12, int(other[2]))
        for other in _ANY_TIME.finditer(text)
        if not any(time.span[0] <= other.start() < time.span[1] for time in times)
    }
    into_english = target_language[:2].lower() == "en"
    for time in times:
        minute = time.minute + 2 if time.minute and time.minute % 11 == 0 else time.minute
        late = time.language == "en" and not time.period and not time.in_part
        places = (((time.hour + more) % 12, (minute + 5 * step) % 60) for step in range(12) for more in range(12))
        hour, minute = next((place for place in places if place not in used), (time.hour % 12, minute))
        used.add((hour, minute))
        shown = twelve(hour) if into_english else hour + 12 if late or time.hour > 12 else hour or time.hour
        yield StandIn(shown, minute, f"{shown}:{minute:02}" + (" Uhr" if time.language == "de" else ""))


@lru_cache(maxsize=1024)
def pattern(stand_in: StandIn, target_language: str, with_half: bool = True) -> re.Pattern[str]:
    """Return a pattern for a stand-in in a translation, without its preposition.

    A model may write it on a 12-hour clock, with or without a.m. or p.m. (included only `with_half`), or in words.
    """
    target, minute = target_language[:2].lower(), f"{stand_in.minute:02}"
    if target not in _CLOCKS:
        return re.compile(rf"{_BEFORE_FIGURE}{re.escape(stand_in.shown)}{_AFTER_FIGURE}")
    same = {stand_in.hour, twelve(stand_in.hour), stand_in.hour % 12, stand_in.hour % 12 + 12}
    hours = "0?(?:" + "|".join(map(str, sorted(same, reverse=True))) + ")"
    names = "|".join(sorted((number_word(each, target) for each in same), key=len, reverse=True))
    hour = f"(?:{hours}|{names}{'|ein' if target == 'de' and twelve(stand_in.hour) == 1 else ''})"
    half = rf"(?:\s?{_HALF_DAY_AT_END})" if with_half else r"(?!)"
    late = rf"(?:{minute}|{number_word(stand_in.minute, target)})"
    forms = [rf"{hour}(?:[:.]|\s?{_UNIT}\s?(?:e\s)?){late}(?:\s?{_UNIT}\b)?{half}?"]
    if not stand_in.minute:
        forms.append(rf"{hour}(?:\s?{_UNIT}\b{half}?|{half})")
        forms += ["(?:12\\s)?(?:noon|midnight)"] if target == "en" and twelve(stand_in.hour) == 12 else []
    if target in _PHRASES:
        phrases = (_PHRASES[target](stand_in.hour, stand_in.minute, spelled) for spelled in (True, False))
        forms += [f"(?:a )?{phrase.removeprefix('a ')}" for phrase in phrases]
    return re.compile(rf"{_BEFORE_FIGURE}(?:{'|'.join(forms)}){_AFTER_FIGURE}", re.IGNORECASE)
