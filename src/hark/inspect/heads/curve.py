"""What is left of a model as its heads are removed, the least important first: a curve as one SVG."""

from collections.abc import Callable, Sequence
from html import escape

from hark.inspect.heads.finder import Report
from hark.inspect.heads.importance import Point
from hark.inspect.heads.picture import wrap
from hark.train.curves_picture import heights, label, ticks

WIDTH, HEIGHT = 640, 240
"""Of one chart."""
LEFT, RIGHT, TOP, BOTTOM, MARGIN = 54, 20, 34, 40, 20


def draw(report: Report, points: Sequence[Point]) -> str:
    """One chart of the loss, and one of BLEU where it was measured."""
    charts: list[tuple[str, Callable[[Point], float]]] = [("Loss, nats a target token", lambda point: point.nll)]
    if all(point.score is not None for point in points):
        charts.append(("BLEU", lambda point: point.score or 0.0))
    sentences = report.importance.sentences if report.importance else report.sentences
    text = f"{sentences:,} sentence pairs of {report.corpus}; nothing is trained again"
    parts = [
        f'<text class="title" x="{MARGIN}" y="32">{escape(report.model)} without its least important heads</text>',
        f'<text x="{MARGIN}" y="50">{escape(text)}</text>',
    ]
    for index, (title, value) in enumerate(charts):
        drawn = draw_chart(title, points, [value(point) for point in points], index)
        parts.append(f'<g transform="translate(0 {60 + index * HEIGHT})">{drawn}</g>')
    return wrap(f"{report.model} without heads", WIDTH, 60 + len(charts) * HEIGHT + 6, "\n".join(parts))


def draw_chart(title: str, points: Sequence[Point], values: Sequence[float], colour: int) -> str:
    low, high = heights(values)
    floor, end, most = HEIGHT - BOTTOM, WIDTH - RIGHT, points[-1].removed

    def x(removed: float) -> float:
        return LEFT + removed / most * (end - LEFT)

    def y(value: float) -> float:
        return TOP + (1 - (value - low) / (high - low)) * (floor - TOP)

    parts = [f'<text class="panel" x="{MARGIN}" y="20">{title}</text>']
    for tick in ticks(low, high, 5):
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
            f'<text class="end" x="{LEFT - 8}" y="{y(tick) + 4:.1f}">{label(tick)}</text>'
        )
    for tick in ticks(0.0, most, 10):
        parts.append(f'<text class="middle" x="{x(tick):.1f}" y="{floor + 17}">{label(tick)}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{end}" y1="{floor}" y2="{floor}"/>')
    parts.append(f'<text class="end" x="{end}" y="{floor + 33}">heads removed, of {most}</text>')
    at = [(x(point.removed), y(value)) for point, value in zip(points, values, strict=True)]
    path = "L".join(f"{left:.1f} {up:.1f}" for left, up in at)
    parts.append(f'<path class="curve" style="stroke:var(--curve{colour})" d="M{path}"/>')
    for (left, up), point, value in zip(at, points, values, strict=True):
        words = f"<title>{point.removed} removed: {value:.3f}</title>"
        place = f'cx="{left:.1f}" cy="{up:.1f}" r="3"'
        parts.append(f'<circle {place} style="fill:var(--curve{colour})">{words}</circle>')
    return "".join(parts)
