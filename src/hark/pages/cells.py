"""Matrices as SVG: one coloured cell per value; and heat maps of language pairs, with a row per source."""

from collections.abc import Callable, Mapping, Sequence
from html import escape

from hark.pages.charts import label, ticks
from hark.pages.document import picture

MARGIN, LEFT, TOP, BOTTOM = 20, 52, 58, 40  # in SVG units
WIDTH, HEIGHT = 680, 360


def draw_cells(
    title: str, row_title: str, column_title: str, values: Sequence[Sequence[float]], low: float, high: float
) -> str:
    """A picture of a matrix, from one colour for `low` over the background to another for `high`."""
    rows, columns = len(values), len(values[0])
    across, down = (WIDTH - LEFT - MARGIN) / columns, (HEIGHT - TOP - BOTTOM) / rows
    middle = (low + high) / 2
    parts = [f'<text class="title" x="{MARGIN}" y="26">{escape(title)}</text>\n']
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            share = (value - middle) / ((high - low) / 2)
            if abs(share) >= 0.02:
                parts.append(
                    f'<rect class="{"p" if share > 0 else "m"}" x="{LEFT + j * across:.1f}" y="{TOP + i * down:.1f}" '
                    f'fill-opacity="{abs(share):.2f}"/>'
                )
    floor = HEIGHT - BOTTOM
    for tick in ticks(0, rows, 6):
        parts.append(f'<text class="end" x="{LEFT - 8}" y="{TOP + tick * down + 4:.1f}">{label(tick)}</text>\n')
    for tick in ticks(0, columns, 8):
        parts.append(f'<text class="middle" x="{LEFT + tick * across:.1f}" y="{floor + 16}">{label(tick)}</text>\n')
    parts.append(
        f'<text class="end" x="{WIDTH - MARGIN}" y="{HEIGHT - 8}">{escape(column_title)}</text>'
        f'<text x="{MARGIN}" y="{TOP - 12}">{escape(row_title)}</text>\n'
    )
    # The size of the cells is in the style, once, because there are thousands.
    style = (
        f"rect.p, rect.m {{ width: {across + 0.1:.2f}px; height: {down + 0.1:.2f}px; }}\n"
        "rect.p { fill: var(--run1); } rect.m { fill: var(--run0); }\n"
    )
    return picture(title, WIDTH, HEIGHT, "".join(parts), style)


Pair = tuple[str, str]


def heat_map(values: Mapping[Pair, float], show: Callable[[Pair], str], describe: Callable[[Pair], str]) -> str:
    """Render values by (source, target) as a coloured table. `show` writes a cell, `describe` its tooltip."""
    codes = sorted({code for pair in values for code in pair})
    sources = [code for code in codes if any(pair[0] == code for pair in values)]
    targets = [code for code in codes if any(pair[1] == code for pair in values)]
    low, high = min(values.values()), max(values.values())

    def cell(pair: Pair) -> str:
        if pair not in values:
            return "<td></td>"
        part = (values[pair] - low) / (high - low) if high > low else 0.5
        # From pale to strong; the text keeps its contrast in both themes.
        style = f"background:color-mix(in srgb, var(--good) {8 + 52 * part:.0f}%, transparent)"
        return f'<td style="{style}" title="{escape(describe(pair))}">{escape(show(pair))}</td>'

    heads = "".join(f"<th>{escape(code)}</th>" for code in targets)
    rows = "".join(
        f"<tr><th>{escape(source)}</th>{''.join(cell((source, target)) for target in targets)}</tr>"
        for source in sources
    )
    return f'<div class="scroll"><table class="heat"><tr><th></th>{heads}</tr>{rows}</table></div>\n'
