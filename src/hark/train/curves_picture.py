"""The curves as one SVG, for documents: no script, light or dark as the reader's machine is."""

import math
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files

from hark.train import figures
from hark.train.curves import Axis, Chart, Curve, Run, charts_of

WIDTH, HEIGHT, GAP = 460, 240, 20  # of a chart, in the picture's own units
LEFT, RIGHT, TOP, BOTTOM = 54, 12, 40, 26  # around its curves
LINE = 20  # of the legend
ROUND_TIMES = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 21600, 43200)  # seconds
STROKES = ("solid", "dashed", "dotted", "dash-dotted")
AXES: dict[Axis, str] = {"step": "steps", "tokens": "target tokens", "time": "training time"}


def draw(runs: Sequence[Run], axis: Axis = "step") -> str:
    """The whole picture: a legend, the first chart, and the others in two columns below it."""
    charts = charts_of(runs)
    names = [run.overview.name for run in runs]
    style = files("hark.train").joinpath("curves_picture.css").read_text(encoding="utf-8")
    # Every chart has the same horizontal axis, so that they can be read one below the other.
    reach = max((each for chart in charts for curve in chart.curves for each in curve.axis(axis)), default=0) or 1
    above, whole = GAP + len(names) * LINE, 2 * WIDTH + GAP
    parts = [legend(names), f'<text class="end" x="{whole - RIGHT}" y="{GAP + 10}">against {AXES[axis]}</text>\n']
    for index, chart in enumerate(charts):
        row, column = divmod(index + 1, 2) if index else (0, 0)
        place = f"translate({column * (WIDTH + GAP)} {above + row * (HEIGHT + GAP)})"
        drawn = draw_chart(chart, axis, reach, WIDTH if index else whole)
        parts.append(f'<g transform="{place}">{drawn}</g>\n')
    height = above + (len(charts) // 2 + 1) * (HEIGHT + GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {height}" width="{whole}" height="{height}">\n'
        f"<title>{escape(', '.join(names))}</title>\n<style>\n{style}</style>\n"
        f'<rect class="card" width="{whole}" height="{height}" rx="10"/>\n{"".join(parts)}</svg>\n'
    )


def legend(names: Sequence[str]) -> str:
    return "".join(
        f'<rect x="{GAP}" y="{GAP + index * LINE}" width="10" height="10" rx="3" style="fill:var(--run{index % 8})"/>'
        f'<text class="name" x="{GAP + 18}" y="{GAP + index * LINE + 10}">{escape(name)}</text>\n'
        for index, name in enumerate(names)
    )


def draw_chart(chart: Chart, axis: Axis, reach: float, width: int) -> str:
    low, high = heights([each for curve in chart.curves for each in curve.values], chart.from_zero)
    floor, end = HEIGHT - BOTTOM, width - RIGHT

    def x(value: float) -> float:
        return LEFT + value / reach * (end - LEFT)

    def y(value: float) -> float:
        return TOP + (1 - (value - low) / (high - low)) * (floor - TOP)

    sets = list(dict.fromkeys(curve.set for curve in chart.curves))
    strokes = [f"{name} {STROKES[index % 4]}" for index, name in enumerate(sets) if name]
    parts = [
        f'<text class="title" x="{GAP}" y="20">{escape(chart.title)}</text>'
        f'<text class="end" x="{end}" y="20">{escape(" · ".join([*filter(None, [chart.note]), *strokes]))}</text>'
    ]
    for tick in ticks(low, high, 5):
        parts.append(
            f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
            f'<text class="end" x="{LEFT - 8}" y="{y(tick) + 4:.1f}">{label(tick)}</text>'
        )
    for tick in ticks(0.0, reach, width // 75, time=axis == "time"):
        anchor = "end" if x(tick) > end - 16 else "middle"
        words = figures.duration(tick).removesuffix(" 00 min") if axis == "time" and tick else label(tick)
        parts.append(f'<text class="{anchor}" x="{x(tick):.1f}" y="{floor + 17}">{words}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{end}" y1="{floor}" y2="{floor}"/>')
    for curve in sorted(chart.curves, key=lambda each: not each.faint):
        kind = f"s{(sets.index(curve.set) + curve.run // 8) % 4}" + (" faint" if curve.faint else "")
        colour = f"stroke:var(--run{curve.run % 8})"
        parts.append(f'<path class="curve {kind}" style="{colour}" d="{path(curve, axis, x, y)}"/>')
    return "".join(parts)


def path(curve: Curve, axis: Axis, x: Callable[[float], float], y: Callable[[float], float]) -> str:
    points = zip(curve.axis(axis), curve.values, strict=True)
    return "M" + "L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in points) if curve.values else ""


def heights(values: Sequence[float], from_zero: bool = False) -> tuple[float, float]:
    """What the vertical axis spans: the values and a little room, from zero where they come near it, or must."""
    low, high = min(0.0 if from_zero else math.inf, *values), max(values)
    room = 0.05 * (high - low) or abs(low) / 2 or 1.0
    return (0.0 if 0 <= low < high / 10 else low - room), high + room


def ticks(low: float, high: float, most: int, time: bool = False) -> list[float]:
    """Round numbers between two others: 1, 2 or 5 times a power of ten, or round stretches of time."""
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    steps = [*ROUND_TIMES, 86400.0 * math.ceil(least / 86400)] if time else [power, 2 * power, 5 * power, 10 * power]
    step = next(each for each in steps if each >= 0.999 * least)
    return [each * step for each in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def label(tick: float) -> str:
    if tick and abs(tick) < 1e-3:
        return f"{tick:.0e}".replace("e-0", "e-")
    text = figures.short(round(tick, 12))
    digits = text.rstrip("kMGTP")
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) + text[len(digits) :]
