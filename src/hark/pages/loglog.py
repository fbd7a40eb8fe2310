"""Log-log plots as SVG, in the style of `hark plot`: panels side by side under one legend."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from hark.pages.charts import label, log_ticks
from hark.pages.document import group, picture, swatches

WIDTH, HEIGHT, GAP = 330, 300, 16  # of a panel, in the picture's own units
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 48, 44  # around its curves
LINE = 20  # of the legend

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class LogPanel:
    """The curves of a panel, in the order of the legend; a curve may be empty."""

    title: str
    unit: str
    below: str
    curves: Sequence[Points]
    guide: bool = False  # a dotted line for linear growth


def draw_panels(names: Sequence[str], panels: Sequence[LogPanel], note: str) -> str:
    width, above = GAP + len(panels) * (WIDTH + GAP), GAP + len(names) * LINE
    height = above + GAP + HEIGHT
    parts = [
        swatches(names, GAP, GAP, LINE),
        f'<text class="end" x="{width - GAP - RIGHT}" y="{GAP + 10}">{escape(note)}</text>\n',
    ]
    for i, panel in enumerate(panels):
        parts.append(group(GAP + i * (WIDTH + GAP), above + GAP, draw_panel(panel)))
    return picture(", ".join(panel.title for panel in panels), width, height, "".join(parts))


def draw_panel(panel: LogPanel) -> str:
    ats = sorted({at for curve in panel.curves for at, _ in curve})
    values = [value for curve in panel.curves for _, value in curve]
    high = 1.25 * max(values)
    low = min(0.8 * min(values), high / 10)  # at least a power of ten, so that flat curves look flat
    floor, end = HEIGHT - BOTTOM, WIDTH - RIGHT

    def x(at: float) -> float:
        return LEFT + share(at, ats[0], ats[-1]) * (end - LEFT)

    def y(value: float) -> float:
        return floor - share(value, low, high) * (floor - TOP)

    title, unit = escape(panel.title), escape(panel.unit)
    parts = [f'<text class="title" x="0" y="18">{title}</text><text x="0" y="35">{unit}</text>']
    for tick in log_ticks(low, high):
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
            f'<text class="end" x="{LEFT - 8}" y="{y(tick) + 4:.1f}">{label(tick)}</text>'
        )
    for at in ats[:: 2 if len(ats) > 5 else 1]:
        parts.append(f'<text class="middle" x="{x(at):.1f}" y="{floor + 17}">{at:,}</text>')
    parts.append(
        f'<line class="axis" x1="{LEFT}" x2="{end}" y1="{floor}" y2="{floor}"/>'
        f'<text class="middle" x="{(LEFT + end) / 2}" y="{floor + 36}">{escape(panel.below)}</text>'
    )
    if panel.guide:
        last, top = max((curve[-1] for curve in panel.curves if curve), key=lambda point: point[1])
        first = max(ats[0], last * low / top)
        ends = f"M{x(first):.1f} {y(top * first / last):.1f}L{x(last):.1f} {y(top):.1f}"
        parts.append(f'<path class="curve s2" style="stroke:var(--axis)" d="{ends}"/>')
    for i, curve in enumerate(panel.curves):
        places = [(x(at), y(value)) for at, value in curve]
        line = "L".join(f"{across:.1f} {down:.1f}" for across, down in places)
        if line:
            parts.append(f'<path class="curve" style="stroke:var(--run{i})" d="M{line}"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{d:.1f}" r="2.6" style="fill:var(--run{i})"/>' for a, d in places]
    return "".join(parts)


def share(value: float, low: float, high: float) -> float:
    """The relative position of a value on a logarithmic axis."""
    return math.log(value / low) / math.log(high / low) if high > low else 0.5
