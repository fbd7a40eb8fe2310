"""Figures as a person reads them: 513k, 1 h 12 min, 1.4 GB."""

import math


def count(number: int) -> str:
    return f"{number:,}"


def plural(number: int, noun: str) -> str:
    """1 pair, 1,234 pairs."""
    return f"{count(number)} {noun}" + ("" if number == 1 else "s")


def short(number: float) -> str:
    """Three figures are enough: 513k, 1.24M."""
    digits, letter = scaled(number)
    return digits + letter


def size(number: int) -> str:
    """Bytes, in the decimal units that disks are sold in: 732 MB."""
    digits, letter = scaled(number)
    return f"{digits} {letter}B"


def scaled(number: float) -> tuple[str, str]:
    """Three figures, and the letter of the thousands that they count."""
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
    return f"{number:.3f}" if math.isfinite(number) else "not a number"


def score(number: float) -> str:
    return f"{number:.2f}"


def rate(number: float) -> str:
    return f"{number:.1e}"


def percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def share(part: int, whole: int) -> str:
    """What is there is never 0.0%."""
    return "under 0.1%" if 0 < part < 0.0005 * whole else percent(part / whole)
