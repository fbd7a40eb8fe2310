"""Splits HTML and XML into tags, text and the rest; the tokens concatenate to the input, however broken it is.

The standard library's parser does not keep the exact source of every token, and translations must not change a
character of the markup.
"""

import re
from array import array
from collections.abc import Iterable, Iterator
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
LONGEST_TAG = 1 << 17
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
        tag = None if found else TAG.match(text, place, place + LONGEST_TAG)
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
