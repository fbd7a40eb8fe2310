"""Comparison of the numbers in a source and its translation: which were lost, changed or invented.

`figures.py` finds numbers in digits, `spelled.py` number words, and `clock.py` clock times.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest

from hark.text.clock import ClockTime, find_times, has_part_of_day, twelve
from hark.text.figures import Figure, Value, find_figures
from hark.text.numerals import Amount, numerals_of
from hark.text.spelled import named_months, scale_pattern, spelled_values

_DIGIT = re.compile("[0-9]")
_RUN = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_POINT = str.maketrans(",", ".")
_SUBSCRIPT = re.compile("[₀-₉]")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_SUFFIX = re.compile(r"['’]?([^\W\d_]+)")
_CLOCK = re.compile(r"[0-9] ?(?:[ap]\.? ?m\b|Uhr)", re.IGNORECASE)
"""With this, the same figures may be another hour: 6:45 pm, 6:45 Uhr."""
_TIME = re.compile(r"([01]?[0-9]|2[0-4])[.:]([0-5][0-9])")
_COUNTED = re.compile(r"[ \u00a0\u202f-]?[^\W\d_]|[ \u00a0]?[°‰]")
_RANGE = re.compile(r"[ \u00a0]?(?:[-–—,]|to|and|or|bis|und|oder|auf|à|et|ou|a|y|o|e|tot|en|of|até)[ \u00a0]?")


@dataclass(frozen=True)
class NumberChange:
    """A number of a source, and its counterpart in the translation; None if missing."""

    source: str | None
    translation: str | None


@dataclass(frozen=True)
class _Number:
    """A number to be found on the other side by any of its possible values."""

    readings: tuple[Value, ...]
    text: str
    """The figure that contains it."""
    start: int
    """Position of the figure."""
    counting: bool = False
    """Whether it counts something, so that "a" may translate 1, unlike in "chapter 1"."""
    dated: bool = False
    """Whether it is part of a date, so that a month name may translate it."""


def compare_numbers(
    source: str, translation: str, source_language: str, target_language: str
) -> tuple[NumberChange, ...]:
    """Return the numbers in digits that one side has and the other lacks, in digits and in words.

    Only values count: 1,250 may become 1.250, "2 million" 2.000.000, "6:45 pm" 18:45, and 12 twelve. A number that the
    translation repeats is not invented.
    """
    if not _DIGIT.search(source) and not _DIGIT.search(translation):
        return ()
    same = _same_figures(source, translation, source_language, target_language)
    if same and not _CLOCK.search(source) and not _CLOCK.search(translation):
        return ()
    if _SUBSCRIPT.search(source) or _SUBSCRIPT.search(translation):
        source, translation = source.translate(_SUBSCRIPTS), translation.translate(_SUBSCRIPTS)
    our_times, their_times = find_times(source, source_language), find_times(translation, target_language)
    timed = bool(our_times or their_times)
    our_part = timed and has_part_of_day(source, source_language)
    their_part = timed and has_part_of_day(translation, target_language)
    our_left, their_left = _unmatched(_whole_times(our_times, our_part), _whole_times(their_times, their_part))
    ours = _numbers(source, source_language, our_times, our_left, their_part)
    theirs = _numbers(translation, target_language, their_times, their_left, our_part)
    lost, added = _unmatched(ours, theirs)
    if not lost and not added:
        return ()
    lost = _not_in_words(lost, translation, target_language, _whole_times(their_times, their_part), theirs)
    known = {value for number in ours for value in number.readings}
    added = [number for number in added if known.isdisjoint(number.readings)]
    added = _not_in_words(added, source, source_language, _whole_times(our_times, our_part), ours)
    return tuple(NumberChange(*pair) for pair in zip_longest(_texts(lost), _texts(added)))


def _not_in_words(
    numbers: list[_Number], text: str, language: str, times: Sequence[_Number], figures: Sequence[_Number]
) -> list[_Number]:
    """Return the numbers that the other side does not have as words or times; `figures` are its numbers."""
    if numbers:
        readings = (value for number in (*figures, *times) for value in number.readings)
        in_words: set[Value] = {value for value in readings if isinstance(value, str) and ":" in value}
        in_words |= spelled_values(text, language)
        numbers = [number for number in numbers if in_words.isdisjoint(number.readings)]
    if any(number.dated for number in numbers):
        months = named_months(text, language)
        numbers = [number for number in numbers if not number.dated or months.isdisjoint(number.readings)]
    if numbers:
        implied = spelled_values(text, language, implied=True)
        strict = implied - {0, 1}  # "no" and "a" only translate a figure that counts something
        numbers = [number for number in numbers if (implied if number.counting else strict).isdisjoint(number.readings)]
    return numbers


def _same_figures(source: str, translation: str, source_language: str, target_language: str) -> bool:
    """Whether both have the same figures in the same order, up to separators, and no "million"."""
    ours, theirs = list(_RUN.finditer(source)), list(_RUN.finditer(translation))
    if len(ours) != len(theirs) or any(
        one[0] != other[0] and one[0].translate(_POINT) != other[0].translate(_POINT)
        for one, other in zip(ours, theirs, strict=True)
    ):
        return False
    sides = ((source, ours, source_language), (translation, theirs, target_language))
    return not any(scale_pattern(code).match(text, run.end()) for text, runs, code in sides for run in runs)


def _whole_times(times: Sequence[ClockTime], in_part: bool) -> list[_Number]:
    """Return each time as one value, those that can only be one hour first.

    A time in words, 8 o'clock, and if the text names a part of the day any time, may be one of two hours.
    """
    numbers = []
    for time in times:
        either = in_part or time.style == "phrase" or time.spelled or (time.style == "hour" and time.language == "en")
        hours = _either(time.hour) if either and time.period is None else (time.hour,)
        readings = tuple(f"{hour}:{time.minute:02}" for hour in hours)
        numbers.append(_Number(readings, time.text, time.span[0]))
    return sorted(numbers, key=lambda number: len(number.readings))


def _either(hour: int) -> tuple[int, int]:
    """Return the hours of the day that an hour of a 12-hour clock may be."""
    return hour % 12, hour % 12 + 12


def _texts(numbers: Sequence[_Number]) -> list[str]:
    """Return the figures to report, each once, even if several numbers of a date or time are missing."""
    return list({number.start: number.text for number in numbers}.values())


def _unmatched(ours: Sequence[_Number], theirs: Sequence[_Number]) -> tuple[list[_Number], list[_Number]]:
    """Return the numbers of each side left after matching equal values."""
    places: dict[Value, list[int]] = defaultdict(list)
    for place in reversed(range(len(theirs))):
        for value in theirs[place].readings:
            places[value].append(place)
    taken: set[int] = set()
    lost = []
    for number in ours:
        for value in number.readings:
            candidates = places.get(value, [])
            while candidates and candidates[-1] in taken:
                candidates.pop()
            if candidates:
                taken.add(candidates.pop())
                break
        else:
            lost.append(number)
    return lost, [number for place, number in enumerate(theirs) if place not in taken]


def _numbers(
    text: str, language: str, times: Sequence[ClockTime], left: Sequence[_Number], in_part: bool
) -> list[_Number]:
    """Return the numbers of a text in order, and those of the times that are `left` after comparing whole times.

    `in_part`: the other text names a part of the day, so that its 6 may be our 18:00.
    """
    numbers: list[_Number] = []
    whole = {number.start: number.readings for number in left}
    for time in times:
        start = time.span[0]
        if start in whole and _DIGIT.search(time.text):
            both = len(whole[start]) > 1
            hours = _either(time.hour) if both else (time.hour, twelve(time.hour) if in_part else time.hour)
            for values in (hours, (time.minute,)) if time.minute else (hours,):
                numbers.append(_Number((*values, *whole[start]), time.text, start, counting=True))
    figures = find_figures(text, language)
    if times:
        covered = {place for time in times for place in range(*time.span)}
        figures = tuple(figure for figure in figures if figure.digits[0] not in covered)
    scale: Amount = 1
    following = len(text)
    for figure in reversed(figures):
        following_scale = _scale(text, figure, language)
        ranging = following_scale == 1 and _RANGE.fullmatch(text, figure.digits[1], following) is not None
        if not ranging:
            scale = following_scale
        numbers += _parts(text, figure, scale, ranging, language)
        following = figure.span[0]
    numbers.sort(key=lambda number: number.start)
    return numbers


def _scale(text: str, figure: Figure, language: str) -> Amount:
    """Return the multiplier given by a word after a figure: 1,000,000 in "2 million"."""
    match = scale_pattern(language).match(text, figure.digits[1]) if figure.kind != "currency" else None
    return numerals_of(language).scales[match[1].lower()] if match else 1


def _parts(text: str, figure: Figure, scale: Amount, ranging: bool, language: str) -> Iterator[_Number]:
    """Yield the numbers to compare in a figure: one, or the parts of a date or ratio."""
    start, end = figure.digits
    time = _TIME.fullmatch(text, start, end)
    more: tuple[Value, ...] = (f"{int(time[1]) % 24}:{time[2]}",) if time else ()
    if isinstance(figure.value, tuple) and figure.kind == "version":
        yield _Number(figure.readings, figure.text, figure.span[0])
        return
    if isinstance(figure.value, tuple):
        dated = figure.kind == "date" or "/" in figure.text
        if len(figure.value) == 2 and "/" in figure.text and figure.value[1]:
            more += (Decimal(figure.value[0]) / figure.value[1],)
        for part in figure.value:
            years = _years(part) if dated else ()
            yield _Number((part, *more, *years), figure.text, figure.span[0], counting=dated, dated=dated)
        return
    # Read as a fraction, a grouped 1,250 would equal 1,25; so that reading only matches the same digits.
    readings = figure.readings if isinstance(figure.value, Decimal) else figure.readings[:1]
    amounts = [reading for reading in readings if not isinstance(reading, str | tuple)]
    if scale == 1 and figure.kind != "currency" and (len(figure.readings) > 1 or isinstance(figure.value, Decimal)):
        more += (text[start:end].translate(_POINT),)
        if figure.kind == "version":  # 2.10 is not 2.1
            readings = ()
    if scale != 1 and amounts:
        scaled = tuple(each * scale for each in amounts)
        readings = (*readings, *scaled) if ranging else scaled
    elif text[start - 1 : start] in ("'", "’"):  # the summer of '68
        more += tuple(value for each in amounts for value in _years(each))
    elif figure.kind == "percent":
        more += tuple(Decimal(each) / 100 for each in amounts)  # 25% is a quarter
    elif suffix := _SUFFIX.match(text, end):
        if suffix[1] in ("s", "er", "ern"):  # 1990s, 90er; the 1800s are the 19th century
            more += tuple(value for each in amounts if each % 10 == 0 for value in _decade(each))
        elif size := numerals_of(language).magnitudes.get(suffix[1]):
            more += tuple(each * size for each in amounts)
    counting = figure.kind in ("percent", "currency", "ordinal") or _COUNTED.match(text, end) is not None
    yield _Number((*readings, *more), figure.text, figure.span[0], counting)


def _decade(year: Amount) -> tuple[Amount, ...]:
    return (year % 100, year // 100 + 1) if year >= 100 else _years(year)


def _years(last_digits: Amount) -> tuple[Amount, ...]:
    """Return the years that two digits may represent."""
    return (1900 + last_digits, 2000 + last_digits) if last_digits < 100 else ()
