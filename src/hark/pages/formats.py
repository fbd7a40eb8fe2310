"""Formats of plain text for people: 513k, 1 h 12 min, 1.4 GB, columns of a table."""

import math
from collections.abc import Iterator, Sequence


def count(number: int) -> str:
    return f"{number:,}"


def plural(number: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 pair, 1,234 pairs; `many` is an irregular plural."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def short(number: float) -> str:
    """Three significant digits: 513k, 1.24M."""
    digits, letter = scaled(number)
    return digits + letter


def size(number: int) -> str:
    """Bytes in decimal units: 732 MB."""
    digits, letter = scaled(number)
    return f"{digits} {letter}B"


def scaled(number: float) -> tuple[str, str]:
    """Three significant digits, and the letter of the unit prefix."""
    if not math.isfinite(number):
        return "?", ""
    letters = " kMGTP"
    power = 0
    while abs(number) >= 999.5 and power < len(letters) - 1:
        number, power = number / 1000, power + 1
    if power == 0:
        return f"{number:.3g}", ""
    decimals = 0 if abs(number) >= 99.95 else 1 if abs(number) >= 9.995 else 2
    return f"{number:.{decimals}f}", letters[power]


def duration(seconds: float) -> str:
    """The two largest units: 45 s, 1 h 12 min, 3 d 4 h."""
    if not math.isfinite(seconds):
        return "?"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = round(whole / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes:02} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"


def loss(number: float) -> str:
    return f"{number:.3f}" if math.isfinite(number) else "NaN"


def score(number: float) -> str:
    return f"{number:.2f}"


def rate(number: float) -> str:
    return f"{number:.1e}"


def percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def share(part: int, whole: int) -> str:
    """A percentage with enough digits to be 0% or 100% only if that is exact."""
    value = 100 * part / whole if whole else 0.0
    rest = min(value, 100 - value)
    if not rest:
        return f"{value:.0f}%"
    return f"{value:.{1 if rest >= 1 else 1 - math.floor(math.log10(rest))}f}%"


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    """The lines of a table: the first `left` columns are aligned on the left, the others on the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:{'<' if at < left else '>'}{widths[at]}}" for at, cell in enumerate(row)]
        yield "  ".join(cells).rstrip()
