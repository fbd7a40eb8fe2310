"""Scatter plots as SVG: labelled dots over a logarithmic axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from hark.pages.axes import label, ticks, value_range
from hark.pages.picture import picture, swatches

WIDTH, HEIGHT, MARGIN, LEFT, RIGHT, BOTTOM = 760, 420, 20, 60, 150, 52  # in SVG units
TITLE, LINE = 36, 20


@dataclass(frozen=True)
class Dot:
    """A dot with its name; `colour` counts series."""

    name: str
    x: float
    y: float
    colour: int


def draw_scatter(title: str, x_title: str, y_title: str, series: Sequence[str], dots: Sequence[Dot]) -> str:
    """A picture of dots, x on a logarithmic axis, y from zero if values come close to it."""
    low, high = value_range([dot.y for dot in dots])
    powers = [math.log10(dot.x) for dot in dots]
    first, last = math.floor(min(powers)), max(math.ceil(max(powers)), math.floor(min(powers)) + 1)
    top, floor, end = TITLE + len(series) * LINE + 24, HEIGHT - BOTTOM, WIDTH - RIGHT

    def x(power: float) -> float:
        return LEFT + (power - first) / (last - first) * (end - LEFT)

    def y(value: float) -> float:
        return floor - (value - low) / (high - low) * (floor - top)

    parts = [
        f'<text class="title" x="{MARGIN}" y="24">{escape(title)}</text>\n',
        swatches(series, MARGIN, TITLE, LINE),
        f'<text x="{MARGIN}" y="{top - 8}">{escape(y_title)}</text>'
        f'<text class="middle" x="{(LEFT + end) / 2}" y="{HEIGHT - 14}">{escape(x_title)}</text>\n',
    ]
    for value in ticks(low, high, 6):
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
            f'<text class="end" x="{LEFT - 8}" y="{y(value) + 4:.1f}">{label(value)}</text>\n'
        )
    for tick in range(first, last + 1):
        parts.append(f'<text class="middle" x="{x(tick):.1f}" y="{floor + 17}">1e{tick}</text>\n')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{end}" y1="{floor}" y2="{floor}"/>\n')
    for dot, power in zip(dots, powers, strict=True):
        parts.append(
            f'<circle cx="{x(power):.1f}" cy="{y(dot.y):.1f}" r="4" style="fill:var(--run{dot.colour % 8})"/>'
            f'<text x="{x(power) + 8:.1f}" y="{y(dot.y) + 4:.1f}">{escape(dot.name)}</text>\n'
        )
    return picture(title, WIDTH, HEIGHT, "".join(parts))
