"""Bar charts as SVG: horizontal bars around zero, several series per row."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from hark.pages.charts import label, ticks
from hark.pages.document import picture, swatches

WIDTH, LEFT, RIGHT, MARGIN = 760, 330, 56, 20  # in SVG units; LEFT is for the names of rows
BAR, GAP = 9, 8
TITLE, LINE = 36, 20


@dataclass(frozen=True)
class BarRow:
    """A row of a bar chart: a value for each series, or None."""

    name: str
    values: tuple[float | None, ...]


def draw_bars(title: str, series: Sequence[str], rows: Sequence[BarRow]) -> str:
    """A picture with a group of bars per row. Bars of a value below zero point to the left."""
    values = [value for row in rows for value in row.values if value is not None]
    low, high = min(0.0, *values, -1e-9), max(0.0, *values, 1e-9)
    room = 0.08 * (high - low)
    low, high = low - room, high + room
    top = TITLE + len(series) * LINE + GAP
    step = len(series) * BAR + GAP
    floor = top + len(rows) * step
    end = WIDTH - RIGHT

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (end - LEFT)

    parts = [
        f'<text class="title" x="{MARGIN}" y="24">{escape(title)}</text>\n',
        swatches(series, MARGIN, TITLE, LINE),
    ]
    for tick in ticks(low, high, 6):
        kind = "axis" if abs(tick) < 1e-12 else "grid"
        parts.append(
            f'<line class="{kind}" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{floor}"/>'
            f'<text class="middle" x="{x(tick):.1f}" y="{floor + 16}">{label(tick)}</text>\n'
        )
    for number, row in enumerate(rows):
        y = top + number * step + GAP / 2
        parts.append(
            f'<text class="end" x="{LEFT - 10}" y="{y + len(series) * BAR / 2 + 4:.1f}">{escape(row.name)}</text>\n'
        )
        for index, value in enumerate(row.values):
            at = y + index * BAR
            if value is None:
                parts.append(f'<text x="{x(0) + 4:.1f}" y="{at + BAR - 1:.1f}">-</text>\n')
                continue
            begin, stop = sorted((x(0), x(value)))
            anchor, place = ("end", begin - 4) if value < 0 else ("start", stop + 4)
            parts.append(
                f'<rect x="{begin:.1f}" y="{at:.1f}" width="{max(stop - begin, 0.8):.1f}" height="{BAR - 1}" '
                f'style="fill:var(--run{index % 8})"/>'
                f'<text x="{place:.1f}" y="{at + BAR - 1:.1f}" style="text-anchor:{anchor};font-size:9px">'
                f"{value:+.1f}</text>\n"
            )
    return picture(title, WIDTH, floor + 30, "".join(parts))
