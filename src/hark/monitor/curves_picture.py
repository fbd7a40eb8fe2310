"""The training curves as one SVG, for documents."""

from collections.abc import Sequence

from hark.monitor.curves import Axis, Chart, Run, charts_of
from hark.pages import formats
from hark.pages.charts import GAP, HEIGHT, RIGHT, STROKES, WIDTH, Line, line_chart
from hark.pages.document import group, picture, swatches

LEGEND_LINE_HEIGHT = 20
AXES: dict[Axis, str] = {"step": "steps", "tokens": "target tokens", "time": "training time"}


def draw(runs: Sequence[Run], axis: Axis = "step") -> str:
    """Draw the curves of runs: the first chart over the whole width, the others in two columns below it."""
    names = [run.overview.name for run in runs]
    return draw_charts(names, charts_of(runs), axis, ", ".join(names), wide_first=True)


def draw_charts(names: Sequence[str], charts: Sequence[Chart], axis: Axis, title: str, wide_first: bool = False) -> str:
    """Draw charts in two columns under one legend."""
    # All charts share the horizontal axis, so that they can be compared.
    reach = max((at for chart in charts for curve in chart.curves for at in curve.axis(axis)), default=0) or 1
    above, whole = GAP + len(names) * LEGEND_LINE_HEIGHT, 2 * WIDTH + GAP
    parts = [
        swatches(names, GAP, GAP, LEGEND_LINE_HEIGHT),
        f'<text class="end" x="{whole - RIGHT}" y="{GAP + 10}">by {AXES[axis]}</text>\n',
    ]
    rows = 1
    for index, chart in enumerate(charts):
        wide = wide_first and index == 0
        row, column = (0, 0) if wide else divmod(index + wide_first, 2)
        rows = row + 1
        drawn = draw_chart(chart, axis, reach, whole if wide else WIDTH)
        parts.append(group(column * (WIDTH + GAP), above + row * (HEIGHT + GAP), drawn))
    return picture(title, whole, above + rows * (HEIGHT + GAP), "".join(parts))


def draw_chart(chart: Chart, axis: Axis, reach: float, width: int = WIDTH) -> str:
    sets = list(dict.fromkeys(curve.set for curve in chart.curves))
    strokes = [f"{name} {STROKES[index % 4]}" for index, name in enumerate(sets) if name]
    lines = [
        Line(
            list(zip(curve.axis(axis), curve.values, strict=True)),
            curve.run,
            sets.index(curve.set) + curve.run // 8,
            curve.faint,
        )
        for curve in chart.curves
    ]
    note = " · ".join([*filter(None, [chart.note]), *strokes])
    return line_chart(
        chart.title,
        lines,
        reach,
        note,
        width=width,
        from_zero=chart.from_zero,
        time=axis == "time",
        dots=(lambda _, value: formats.short(value)) if chart.dots else None,
    )
