"""Number localisation: writes figures in the format of the target language, e.g. 7.4% as 7,4 % in German."""

import re
from decimal import Decimal

from hark.text.figures import CODE, SIGN, Figure, find_figures
from hark.text.numerals import Numerals, numerals_of
from hark.text.rewrite import Rewriting

_MONEY = re.compile(f"{SIGN}|{CODE}")
_SPACES = " \u00a0\u202f-"
_DIGITS = re.compile(r"[0-9]+")
_AMOUNTS = ("decimal", "grouped", "percent", "currency")


def localise(figure: str, source_language: str, target_language: str) -> str:
    """Write a figure, or all figures of a text, as in the target language: 7.4% is 7,4 % in German.

    Years, versions, dates, times, phone numbers and parts of words are unchanged.
    """
    figures = find_figures(figure, source_language)
    written = ((each.span, write_figure(each, source_language, target_language)) for each in figures)
    return Rewriting.of(figure, written).after


def write_figure(figure: Figure, source_language: str, target_language: str) -> str:
    """Write a figure of the source as in the target language."""
    source, target = numerals_of(source_language), numerals_of(target_language)
    if source is target:
        return figure.text
    digits = _write_digits(figure, target)
    match figure.kind:
        case "decimal" | "grouped":
            return digits
        case "percent":
            return digits + target.percent
        case "ordinal":
            return digits + (_english_ending(digits) if target.ordinal == "th" else target.ordinal)
        case "currency":
            return _write_money(figure, digits, source, target)
        case _:
            return figure.text


def _write_digits(figure: Figure, target: Numerals) -> str:
    groups: list[str] = _DIGITS.findall(figure.raw)
    if isinstance(figure.value, Decimal):
        return target.thousands.join(groups[:-1]) + target.decimal + groups[-1]
    return target.thousands.join(groups)


def _english_ending(digits: str) -> str:
    return "th" if digits[-2:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(digits[-1], "th")


def _write_money(figure: Figure, digits: str, source: Numerals, target: Numerals) -> str:
    rest = figure.text.replace(figure.raw, " ", 1)
    match = _MONEY.search(rest)
    assert match is not None
    sign, before, after = match[0], rest[: match.start()].strip(_SPACES), rest[match.end() :].strip(_SPACES)
    first = figure.digits[0] > figure.span[0]
    if first:  # US$5m
        sign, size = before + sign, after
    else:  # 5m US$
        names = sorted(source.magnitudes, key=len, reverse=True)
        size = next((name for name in names if before.startswith(name)), "")
        sign = before[len(size) :].lstrip(_SPACES) + sign
    if size:
        size = next((name for name, value in target.magnitudes.items() if value == source.magnitudes[size]), size)
        digits += (" " if len(size) > 2 else "") + size
    if match[0].isalpha():  # a code stays before or after the amount
        return f"{sign} {digits}" if first else f"{digits} {sign}"
    return target.currency.format(amount=digits, sign=sign)
