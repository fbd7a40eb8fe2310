"""Self-contained HTML documents: style, script and data are inline, and the browser may fetch nothing.

An SVG picture has no scripts either, and follows the reader's light or dark mode.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any


def document(title: str, style: str, body: str, script: str = "") -> str:
    """A whole page. Its Content-Security-Policy allows only this style and this script, whatever the text contains."""
    # Style attributes can only be ours, since all text is escaped.
    rules = ["default-src 'none'", f"style-src-elem '{digest(style)}'", "style-src-attr 'unsafe-inline'"]
    rules += [f"script-src '{digest(script)}'"] if script else []
    policy = "; ".join([*rules, "img-src data: blob:"])
    run = f'<script type="module">{script}</script>\n' if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n{body}{run}</html>\n"
    )


def digest(text: str) -> str:
    """The hash of an inline script or style for the Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page_style(own: str) -> str:
    """The style shared by all report pages, followed by a page's own."""
    return read_asset("hark.pages", "page.css") + own


def read_asset(package: str, name: str) -> str:
    """Read a style sheet or script of a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def embed_json(value: Any) -> str:
    """JSON for a script element: `<` is escaped, since only that can end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def visible(text: str) -> str:
    """Escaped text with control characters replaced by their Unicode pictures."""
    shown = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
    return escape(text.translate(shown))


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
