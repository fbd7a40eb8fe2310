"""Axes of charts: their range, round tick values and labels."""

import math
from collections.abc import Sequence

from hark.pages import formats

ROUND_TIMES = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 21600, 43200)  # seconds


def value_range(values: Sequence[float], from_zero: bool = False) -> tuple[float, float]:
    """The range of a vertical axis: the values with a margin, from zero if they come close to it or if `from_zero`."""
    low, high = min(0.0 if from_zero else math.inf, *values), max(values)
    room = 0.05 * (high - low) or abs(low) / 2 or 1.0
    return (0.0 if 0 <= low < high / 10 else low - room), high + room


def ticks(low: float, high: float, most: int, time: bool = False) -> list[float]:
    """Round numbers in a range: multiples of 1, 2 or 5 times a power of ten, or of a round duration."""
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    steps = [*ROUND_TIMES, 86400.0 * math.ceil(least / 86400)] if time else [power, 2 * power, 5 * power, 10 * power]
    step = next(each for each in steps if each >= 0.999 * least)
    return [each * step for each in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten in a range, or only the powers if those are too many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [each * 10.0**power for power in powers for each in (1, 2, 5)]
    inside = [each for each in fine if low <= each <= high]
    return inside if len(inside) <= 9 else [each for each in inside if math.log10(each).is_integer()]


def round_step(least: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, 50, ... that is at least `least`."""
    size = 1
    while True:
        for step in (size, 2 * size, 5 * size):
            if step >= least:
                return step
        size *= 10


def labels(values: Sequence[float]) -> list[str]:
    """Labels of ticks, with as many digits as it takes to make them distinct."""
    texts = [label(value) for value in values]
    digits = 4
    while len(set(texts)) < len(texts) and digits < 12:
        texts = [f"{value:.{digits}g}" for value in values]
        digits += 1
    return texts


def label(tick: float) -> str:
    """A tick value in few characters: 500, 2k, 1.5M, 3e-4."""
    if tick and abs(tick) < 1e-3:
        return f"{tick:.0e}".replace("e-0", "e-")
    text = formats.short(round(tick, 12))
    digits = text.rstrip("kMGTP")
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) + text[len(digits) :]
