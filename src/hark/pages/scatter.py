"""Scatter plots as SVG: labelled dots over a logarithmic axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from hark.pages.charts import label, ticks, value_range
from hark.pages.document import picture, swatches

WIDTH, HEIGHT, MARGIN, LEFT, RIGHT, BOTTOM = 760, 420, 20, 60, 150, 52  # in SVG units
TITLE, LINE = 36, 20
LETTER, ASCENT, RADIUS = 6.2, 10, 4  # mean width of a letter (estimated), height of a label, radius of a dot


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
    places = [(x(power), y(dot.y)) for dot, power in zip(dots, powers, strict=True)]
    for dot, (at_x, at_y), box in zip(dots, places, place_labels(dots, places), strict=True):
        parts.append(
            f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="{RADIUS}" style="fill:var(--run{dot.colour % 8})"/>'
            f'<text x="{box.x:.1f}" y="{box.y + ASCENT:.1f}">{escape(dot.name)}</text>\n'
        )
    return picture(title, WIDTH, HEIGHT, "".join(parts))


@dataclass(frozen=True)
class Box:
    """A rectangle, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    def meets(self, other: "Box") -> bool:
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )


def place_labels(dots: Sequence[Dot], places: Sequence[tuple[float, float]]) -> list[Box]:
    """A box for each label: right of its dot, or else left, above or below, where no dot or label is in the way."""
    taken = [Box(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS) for x, y in places]
    found = []
    for dot, (x, y) in zip(dots, places, strict=True):
        width = LETTER * len(dot.name)
        beside, centred = y + 4 - ASCENT, x - width / 2
        choices = [Box(x + 8, beside, width, ASCENT + 2), Box(x - 8 - width, beside, width, ASCENT + 2)]
        choices += [Box(centred, beside + step, width, ASCENT + 2) for step in (-ASCENT - 4, ASCENT + 4)]
        free = [each for each in choices if not any(each.meets(other) for other in taken)]
        box = free[0] if free else choices[0]
        found.append(box)
        taken.append(box)
    return found
