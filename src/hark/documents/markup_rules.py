"""Rules for reading HTML and XML: which elements end a sentence, and which are not translated."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from hark.documents.markup_tokens import Token

BLOCKS = frozenset(
    """
    address article aside blockquote body br button caption center col colgroup dd desc details dialog dir div dl dt
    fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html label legend li
    link main menu meta nav noscript ol optgroup option p pre section select summary table tbody td text textarea tfoot
    th thead title tr ul
    """.split()  # noqa: SIM905
)
"""HTML elements that end a sentence, and `text` and `desc` of SVG; all others are inline."""
UNTOUCHED = frozenset(("code", "kbd", "math", "pre", "samp", "template", "textarea", "var"))
"""HTML elements whose text is not translated."""
READINGS = frozenset(("rt", "rp"))
"""How Japanese or Chinese words are pronounced, in small letters above them (ruby): not a part of the sentence."""
_KEPT = UNTOUCHED | READINGS
_CELLS = frozenset(("td", "th", "tr", "tbody", "tfoot"))
_ENTRIES = frozenset(("dt", "dd"))
_ENDED_BY = {
    "p": BLOCKS, "li": frozenset(("li",)), "dt": _ENTRIES, "dd": _ENTRIES, "td": _CELLS, "th": _CELLS,
    "tr": _CELLS - {"td", "th"}, "option": frozenset(("option", "optgroup")), "rt": READINGS, "rp": READINGS,
}  # fmt: skip
"""HTML elements that need no end tag, and those that end them where they begin."""
ATTRIBUTE = re.compile(r"([^\s\"'<>/=]+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'<>]+)")
"""An attribute of a tag: its name, and its value with quotes."""


@dataclass(frozen=True)
class MarkupRules:
    """How to read a document."""

    html: bool = True
    ignore: frozenset[str] = frozenset()
    """Elements whose content is not translated."""
    splitting: frozenset[str] = frozenset()
    """Elements that end a sentence."""
    non_splitting: frozenset[str] = frozenset()
    """Elements that do not end a sentence."""
    outline: bool = True
    """Whether to find out from an XML document which elements are inline: those next to text."""
    collapse: bool = True
    """Whether line breaks are white space like any other, as in HTML."""
    xhtml: bool = False
    """Whether HTML is also XML: scripts may be self-closing."""
    only: frozenset[str] = frozenset()
    """Elements that are translated; empty: all."""

    def splits(self, token: Token, inline: Collection[str]) -> bool:
        """Whether a tag ends a sentence; `inline` are the elements of an XML document that stand next to text."""
        if token.kind == "hidden" or (token.name in self.non_splitting and token.name not in self.only):
            return False
        if token.name in self.splitting or token.name in self.only:
            return True
        return token.name in BLOCKS if self.html else self.outline and token.name not in inline

    def ignores(self, token: Token) -> bool:
        """Whether an element is not translated."""
        if token.name in self.ignore or (self.html and token.name in _KEPT):
            return True
        if "translate" not in token.raw.lower():
            return False
        for name, value in ATTRIBUTE.findall(token.raw):
            value = value.strip("\"'")
            if (name.lower(), value.strip().lower()) == ("translate", "no"):
                return True
            if name.lower() == "class" and "notranslate" in value.split():
                return True
        return False

    def ends(self, name: str, following: Token) -> bool:
        """Whether an element without an end tag ends where another one begins."""
        return self.html and following.kind in ("open", "single") and following.name in _ENDED_BY.get(name, ())
