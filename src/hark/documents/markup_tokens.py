"""Splits HTML and XML into tags, text and the rest, and says which elements end a sentence or are not translated.

The tokens concatenate to the input, however broken it is: translations must not change a character of the markup. The
standard library's parser does not keep the exact source of every token.
"""

import re
from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

TokenKind = Literal["text", "open", "close", "single", "hidden"]
"""`single`: void and self-closing tags. `hidden`: comments, declarations, CDATA, scripts: not text, never changed."""

VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
RAW = frozenset(("script", "style", "xmp", "iframe", "noembed", "noframes"))
"""HTML elements whose content is not markup."""
_SPECIAL = re.compile(r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<![^>]*(?:>|\Z)", re.DOTALL)
# As browsers read tags: quotes count only after an equals sign. The possessive repeats never go back.
TAG = re.compile(
    r"<(/?)([^\W\d_][^\s<>/\"'=]*+)(?:[^\s<>=]++|\s++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s<>\"'][^\s<>]*+)|=)*+>"
)
MAX_TAG_CHARS = 1 << 17
"""Maximum characters of a tag, which may contain a picture. It bounds the time that broken tags take."""


class Token(NamedTuple):
    """A part of the input, exactly as it was written."""

    kind: TokenKind
    raw: str
    name: str = ""


def tokenise(text: str, html: bool, xhtml: bool = False) -> Iterator[Token]:
    """Yield the tokens of a document. Names of HTML elements are in lower case. XHTML has self-closing scripts."""
    start = place = 0
    while (place := text.find("<", place)) >= 0:
        found = _SPECIAL.match(text, place) if text[place + 1 : place + 2] in ("!", "?") else None
        tag = None if found else TAG.match(text, place, place + MAX_TAG_CHARS)
        if found is None and tag is None:  # a "less than"
            place += 1
            continue
        if start < place:
            yield Token("text", text[start:place])
        if found is not None:
            yield Token("hidden", found[0])
            start = place = found.end()
            continue
        assert tag is not None
        name = tag[2].lower() if html else tag[2]
        start = place = tag.end()
        if tag[1]:
            yield Token("close", tag[0], name)
        elif tag[0].endswith("/>") if not html else name in VOID:
            yield Token("single", tag[0], name)
        elif html and name in RAW and not (xhtml and tag[0].endswith("/>")):
            end = _end_of_raw(text, name, place)
            yield Token("hidden", tag[0] + text[place:end], name)
            start = place = end
        else:
            # HTML ignores the slash of <b/>, but tools write <x/> for placeholders and mean XML.
            yield Token("single" if tag[0].endswith("/>") else "open", tag[0], name)
    if start < len(text):
        yield Token("text", text[start:])


def _end_of_raw(text: str, name: str, start: int) -> int:
    """The end of an element whose content is not markup, with its closing tag; the end of the text if it has none."""
    closing = re.compile(rf"</{name}(?:\s[^>]*|/[^>]*)?>", re.IGNORECASE).search(text, start)
    return closing.end() if closing else len(text)


def pair_up(tokens: Iterable[Token]) -> "array[int]":
    """Match opening and closing tags; return the number of each token's partner, or -1. Pairs never cross."""
    partners = array("i")
    opened: list[tuple[int, str]] = []
    waiting: dict[str, int] = {}
    for place, token in enumerate(tokens):
        partners.append(-1)
        if token.kind == "open":
            opened.append((place, token.name))
            waiting[token.name] = waiting.get(token.name, 0) + 1
        elif token.kind == "close" and waiting.get(token.name):
            while True:
                other, name = opened.pop()
                waiting[name] -= 1
                if name == token.name:
                    break
            partners[place], partners[other] = other, place
    return partners


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
