"""Charts as SVG: lines over a linear axis, and bars, with round ticks on their axes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

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


WIDTH, HEIGHT, GAP = 460, 240, 20  # of a line chart, in SVG units
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 40, 26  # around its lines
STROKES = ("solid", "dashed", "dotted", "dash-dotted")


@dataclass(frozen=True)
class Line:
    """One line of a chart. `colour` counts series, `stroke` counts kinds of strokes."""

    points: Sequence[tuple[float, float]]
    colour: int = 0
    stroke: int = 0
    faint: bool = False


def line_chart(
    title: str,
    lines: Sequence[Line],
    reach: float,
    note: str = "",
    below: str = "",
    width: int = WIDTH,
    from_zero: bool = False,
    time: bool = False,
    dots: Callable[[float, float], str] | None = None,
) -> str:
    """A line chart from 0 to `reach`. `dots`, if given, marks each point and returns its tooltip."""
    low, high = value_range([y for line in lines for _, y in line.points], from_zero)
    floor, end = HEIGHT - BOTTOM - (14 if below else 0), width - RIGHT

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x, y = point
        return LEFT + x / reach * (end - LEFT), TOP + (1 - (y - low) / (high - low)) * (floor - TOP)

    parts = [
        f'<text class="title" x="{GAP}" y="20">{escape(title)}</text>'
        f'<text class="end" x="{end}" y="20">{escape(note)}</text>'
    ]
    y_ticks = ticks(low, high, 5)
    for tick, text in zip(y_ticks, labels(y_ticks), strict=True):
        _, y = place((0, tick))
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="end" x="{LEFT - 8}" y="{y + 4:.1f}">{text}</text>'
        )
    for tick in ticks(0.0, reach, width // 75, time):
        x, _ = place((tick, low))
        anchor = "end" if x > end - 16 else "middle"
        text = formats.duration(tick).removesuffix(" 00 min") if time and tick else label(tick)
        parts.append(f'<text class="{anchor}" x="{x:.1f}" y="{floor + 17}">{text}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{end}" y1="{floor}" y2="{floor}"/>')
    if below:
        parts.append(f'<text class="end" x="{end}" y="{floor + 33}">{escape(below)}</text>')
    for line in sorted(lines, key=lambda each: not each.faint):
        kind = f"s{line.stroke % 4}" + (" faint" if line.faint else "")
        colour = f"var(--run{line.colour % 8})"
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in map(place, line.points))
        if path:
            parts.append(f'<path class="curve {kind}" style="stroke:{colour}" d="M{path}"/>')
        if dots:
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" style="fill:{colour}"><title>{escape(dots(*point))}</title>'
                "</circle>"
                for point in line.points
                for x, y in [place(point)]
            ]
    return "".join(parts)


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram; `start` and `end` are shares of the horizontal axis."""

    start: float
    end: float
    count: int
    title: str


def histogram(
    name: str,
    caption: str,
    kind: str,
    bars: Sequence[Bar],
    x_ticks: Sequence[tuple[float, str]],
    axes: tuple[str, str],
    median: float | None = None,
) -> str:
    """A histogram as an HTML figure; each bar has its title as a tooltip."""
    width, height, left, top, bottom = 440, 212, 40, 20, 40
    most = max((bar.count for bar in bars), default=0)
    step = round_step(most / 3) if most else 1
    reach = max(-(-most // step) * step, 1)
    span, rise = width - left, height - top - bottom

    def x(share: float) -> float:
        return left + span * share

    def y(count: float) -> float:
        return top + rise * (1 - count / reach)

    horizontal, vertical = axes
    parts = []
    for mark in range(0, reach + 1, step):
        line = "axis" if mark == 0 else "grid"
        parts.append(
            f'<line class="{line}" x1="{left}" x2="{width}" y1="{y(mark):.1f}" y2="{y(mark):.1f}"/>'
            f'<text class="end" x="{left - 6}" y="{y(mark) + 4:.1f}">{label(mark)}</text>'
        )
    parts.append('<g class="bars">')
    for bar in bars:
        # A transparent bar of full height makes low bars easy to hover over.
        place = f'x="{x(bar.start) + 0.5:.1f}" width="{max(span * (bar.end - bar.start) - 1, 0.6):.1f}"'
        tall = max(rise * bar.count / reach, 0.8 if bar.count else 0)
        parts.append(
            f"<g><title>{bar.title}</title>"
            f'<rect {place} y="{top}" height="{rise}" fill="transparent"/>'
            f'<rect class="{kind}" {place} y="{top + rise - tall:.1f}" height="{tall:.1f}"/></g>'
        )
    parts.append("</g>")
    if median is not None:
        parts.append(f'<line class="median" x1="{x(median):.1f}" x2="{x(median):.1f}" y1="{top}" y2="{top + rise}"/>')
    parts += [f'<text class="middle" x="{x(at):.1f}" y="{top + rise + 17}">{text}</text>' for at, text in x_ticks]
    parts.append(
        f'<text class="label" x="0" y="8">{escape(vertical)}</text>'
        f'<text class="label middle" x="{x(0.5):.1f}" y="{height - 5}">{escape(horizontal)}</text>'
    )
    return (
        f"<figure><figcaption><b>{escape(name)}</b><span>{escape(caption)}</span></figcaption>"
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(name)}: {escape(caption)}">'
        f"{''.join(parts)}</svg></figure>\n"
    )
