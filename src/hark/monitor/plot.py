"""Draws the training curves of runs: a page for browsers, and one SVG for documents."""

from collections.abc import Sequence
from html import escape
from typing import Any

from hark.monitor.curves import Axis, Chart, Curve, Run, charts_of
from hark.monitor.overview import BestResult, Overview
from hark.pages import formats
from hark.pages.charts import GAP, HEIGHT, RIGHT, STROKES, WIDTH, Line, line_chart
from hark.pages.document import document, embed_json, group, page_style, picture, read_asset, swatches

AXES: dict[Axis, str] = {"step": "Steps", "tokens": "Target tokens", "time": "Time"}
LEGEND_LINE_HEIGHT = 20
UNITS: dict[Axis, str] = {"step": "steps", "tokens": "target tokens", "time": "training time"}


def render(runs: Sequence[Run], axis: Axis = "step") -> str:
    """Render the page."""
    charts = charts_of(runs)
    title = runs[0].overview.name if len(runs) == 1 else f"{len(runs)} runs"
    body = (
        f'<main>\n<header><p class="over">Hark training curves</p>\n<h1>{escape(title)}</h1></header>\n'
        + runs_table([run.overview for run in runs])
        + controls(runs, axis)
        + '<div class="charts">'
        + "".join(figure(index, chart) for index, chart in enumerate(charts))
        + "</div>\n"
        + ("" if charts else '<p class="note">Nothing to plot yet: no training step has been logged.</p>\n')
        + "<footer>Made by <code>hark plot</code>. Point at a curve for its values; drag to zoom in, double-click to "
        "zoom out.</footer>\n</main>\n"
        f'<script type="application/json" id="data">{embed_json(data_of(runs, charts, axis))}</script>\n'
    )
    style, script = page_style(read_asset("hark.monitor", "curves.css")), read_asset("hark.monitor", "curves.js")
    return document(f"{title} · hark training curves", style, body, script)


def runs_table(overviews: Sequence[Overview]) -> str:
    rows = "".join(run_row(index, run) for index, run in enumerate(overviews))
    return (
        '<div class="scroll"><table><tr><th>Run</th><th>State</th><th>Step</th><th>Loss</th><th>Best on dev</th>'
        f"<th>Target tokens</th><th>Training time</th><th>Tokens/s</th></tr>{rows}</table></div>\n"
    )


def run_row(index: int, run: Overview) -> str:
    step = formats.count(run.step) + (f" <small>of {formats.count(run.steps)}</small>" if run.steps else "")
    cells = (
        f'<span class="state {run.state}">{run.state}</span>',
        step,
        formats.loss(run.loss) if run.loss is not None else "–",
        format_best(run.best),
        formats.short(run.target_tokens),
        formats.duration(run.seconds),
        formats.short(run.target_tokens / run.seconds) if run.seconds else "–",
    )
    name = f'<td><i class="swatch" style="background:var(--run{index % 8})"></i>{escape(run.name)}</td>'
    return f"<tr>{name}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def format_best(best: BestResult | None) -> str:
    if best is None:
        return "–"
    value = formats.loss(best.value) if best.name == "nll" else formats.score(best.value)
    return f"{escape(best.name)} {value} <small>at {formats.count(best.step)}</small>"


def controls(runs: Sequence[Run], axis: Axis) -> str:
    """The choice of runs, horizontal axis and vertical scale."""
    chips = "".join(
        f'<button class="chip" data-run="{index}" aria-pressed="true">'
        f'<i class="swatch" style="background:var(--run{index % 8})"></i>{escape(run.overview.name)}</button>'
        for index, run in enumerate(runs)
    )
    axes = "".join(
        f'<button data-axis="{key}" aria-pressed="{str(key == axis).lower()}">{label}</button>'
        for key, label in AXES.items()
    )
    return (
        '<nav class="controls">'
        + (f'<div class="chips" role="group" aria-label="Runs">{chips}</div>' if len(runs) > 1 else "")
        + f'<div class="choice" role="group" aria-label="Horizontal axis">{axes}</div>'
        '<div class="choice" role="group" aria-label="Vertical scale">'
        '<button data-scale="linear" aria-pressed="true">Linear</button>'
        '<button data-scale="log" aria-pressed="false">Log</button></div>'
        '<button class="all" hidden>Show all</button></nav>\n'
    )


def figure(index: int, chart: Chart) -> str:
    strokes = list(dict.fromkeys(curve.set for curve in chart.curves if curve.set))
    key = "".join(
        f'<span class="key"><i class="stroke s{i}"></i>{escape(name)}</span>' for i, name in enumerate(strokes)
    )
    return (
        f'<figure class="{"wide" if index == 0 else ""}"><figcaption><b>{escape(chart.title)}</b>'
        f"<span>{escape(chart.note)}{key}</span></figcaption>"
        f'<div class="plot"><svg role="img" aria-label="{escape(chart.title)}"></svg>'
        '<div class="tip" hidden></div></div></figure>\n'
    )


def data_of(runs: Sequence[Run], charts: Sequence[Chart], axis: Axis) -> dict[str, Any]:
    return {
        "axis": axis,
        "runs": [run.overview.name for run in runs],
        "charts": [
            {
                "title": chart.title,
                "dots": chart.dots,
                "fromZero": chart.from_zero,
                "curves": [curve_data(curve, chart) for curve in chart.curves],
            }
            for chart in charts
        ],
    }


def curve_data(curve: Curve, chart: Chart) -> dict[str, Any]:
    strokes = list(dict.fromkeys(sibling.set for sibling in chart.curves))
    return {
        "run": curve.run,
        "set": curve.set,
        "stroke": strokes.index(curve.set),
        "faint": curve.faint,
        "best": curve.best,
        "step": curve.step,
        "tokens": curve.tokens,
        "time": [round(seconds, 1) for seconds in curve.time],
        "values": [float(f"{value:.6g}") for value in curve.values],
    }


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
        f'<text class="end" x="{whole - RIGHT}" y="{GAP + 10}">by {UNITS[axis]}</text>\n',
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
