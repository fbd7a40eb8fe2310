"""Heat maps of language pairs: a table with a row per source and a column per target, coloured by value."""

from collections.abc import Callable, Mapping
from html import escape

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
