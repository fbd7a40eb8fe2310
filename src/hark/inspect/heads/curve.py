"""Draws loss and BLEU against the number of heads removed, least important first, as one SVG."""

from collections.abc import Sequence
from html import escape

from hark.inspect.heads.finder import HeadReport
from hark.inspect.heads.importance import Point
from hark.pages.charts import GAP, HEIGHT, Line, line_chart
from hark.pages.document import group, picture

WIDTH = 640


def draw(report: HeadReport, points: Sequence[Point]) -> str:
    """Draw a chart of the loss, and one of BLEU if it was measured."""
    charts = [("Loss, nats per target token", [(point.removed, point.nll) for point in points])]
    if all(point.score is not None for point in points):
        charts.append(("BLEU", [(point.removed, point.score or 0.0) for point in points]))
    sentences = report.importance.sentences if report.importance else report.sentences
    text = f"{sentences:,} sentence pairs of {report.corpus}; no retraining"
    parts = [
        f'<text class="title" x="{GAP}" y="32">{escape(report.model)} without its least important heads</text>',
        f'<text x="{GAP}" y="50">{escape(text)}</text>\n',
    ]
    most = points[-1].removed
    for index, (title, values) in enumerate(charts):
        drawn = line_chart(
            title,
            [Line(values, index)],
            most,
            below=f"heads removed, of {most}",
            width=WIDTH,
            dots=lambda removed, value: f"{removed} removed: {value:.3f}",
        )
        parts.append(group(0, 60 + index * HEIGHT, drawn))
    return picture(f"{report.model} without heads", WIDTH, 60 + len(charts) * HEIGHT + 6, "".join(parts))
