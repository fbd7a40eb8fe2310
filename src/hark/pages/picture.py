"""SVG pictures for documents, without scripts, in the reader's light or dark mode."""

from collections.abc import Sequence
from html import escape

from hark.pages.document import read_asset


def picture(title: str, width: int, height: int, content: str, own_style: str = "") -> str:
    """A whole SVG file: `content` on a card, with the shared style and its own."""
    style = read_asset("hark.pages", "picture.css") + own_style
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n"
        f'<rect class="card" width="{width}" height="{height}" rx="10"/>\n{content}</svg>\n'
    )


def group(x: float, y: float, content: str) -> str:
    """Content moved to a position."""
    return f'<g transform="translate({x} {y})">{content}</g>\n'


def swatches(names: Sequence[str], left: int, top: int, line: int) -> str:
    """A legend: one line per series, with its colour and name."""
    return "".join(
        f'<rect x="{left}" y="{top + index * line}" width="10" height="10" rx="3" style="fill:var(--run{index % 8})"/>'
        f'<text class="name" x="{left + 18}" y="{top + index * line + 10}">{escape(name)}</text>\n'
        for index, name in enumerate(names)
    )
