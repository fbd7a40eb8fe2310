"""Attention between the words of a sentence as SVG, as in the paper's figures 3 to 5: lines between two columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from hark.pages.document import group, picture

MARGIN, TITLE = 20, 44
WORD, COLUMN, GAP = 120, 150, 40  # of a column of words, between two columns, between two views; in SVG units
LINE = 20
NARROWEST = 540
"""Minimum width of the picture, to fit the title."""
FAINTEST = 0.03
"""Weights below this are not drawn."""

Matrix = Sequence[Sequence[float]]


@dataclass(frozen=True)
class HeadView:
    """A pair of columns: the weights of one or several heads, each with its own colour."""

    title: str
    heads: Sequence[Matrix]
    """Row: the word that looks; column: the word that it looks at."""


def draw_heads(title: str, words: Sequence[str], views: Sequence[HeadView], looking: int | None = None) -> str:
    """A picture of views side by side. With `looking`, only the lines of that word are drawn."""
    width_of_view = 2 * WORD + COLUMN
    width = max(NARROWEST, 2 * MARGIN + len(views) * width_of_view + (len(views) - 1) * GAP)
    height = TITLE + 24 + len(words) * LINE + MARGIN
    parts = [f'<text class="title" x="{MARGIN}" y="26">{escape(title)}</text>\n']
    for number, view in enumerate(views):
        x = MARGIN + number * (width_of_view + GAP)
        parts.append(group(x, TITLE, draw_view(words, view, looking)))
    return picture(title, width, height, "".join(parts))


def draw_view(words: Sequence[str], view: HeadView, looking: int | None) -> str:
    def y(index: int) -> float:
        return 24 + (index + 0.5) * LINE

    left, right = WORD, WORD + COLUMN
    parts = [f'<text x="0" y="10">{escape(view.title)}</text>']
    for colour, weights in enumerate(view.heads):
        for one, row in enumerate(weights):
            if looking is not None and one != looking:
                continue
            parts += [
                f'<line x1="{left + 4}" y1="{y(one):.0f}" x2="{right - 4}" y2="{y(other):.0f}" '
                f'style="stroke:var(--run{colour % 8});stroke-width:2.5;stroke-opacity:{min(1.0, weight):.2f}"/>'
                for other, weight in enumerate(row)
                if weight >= FAINTEST
            ]
    for index, word in enumerate(words):
        bold = ' style="font-weight:700"' if index == looking else ""
        parts.append(
            f'<text class="name end" x="{left}" y="{y(index) + 4:.0f}"{bold}>{escape(word)}</text>'
            f'<text class="name" x="{right}" y="{y(index) + 4:.0f}">{escape(word)}</text>'
        )
    return "".join(parts)
