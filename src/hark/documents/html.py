"""HTML and XHTML: text with its inline tags; markup, scripts and comments stay as they are."""

import re
from functools import partial

from hark.documents.document import Document, ReadingOptions
from hark.documents.encoding import declared_encoding, decode
from hark.documents.markup_document import MarkupDocument, find_attributes
from hark.documents.markup_tokens import MarkupRules, tokenise
from hark.text.detector import base_language
from hark.text.language_names import is_right_to_left

_DECLARED = re.compile(
    rb"<\?xml[^>]{1,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})|<meta[^>]{1,400}?charset\s*=\s*[\"']?([\w.:-]{1,40})", re.I
)
_LANGUAGE = re.compile(r"(\s(?:xml:)?lang\s*=\s*[\"']?)([\w-]+)", re.IGNORECASE)
_DIRECTION = re.compile(r"(\sdir\s*=\s*[\"']?)(ltr|rtl|auto)\b", re.IGNORECASE)
_HEAD = 4096
"""Bytes in which the encoding is declared; the standard asks for 1,024."""
_BEGINNING = 1 << 20
"""Characters in which the tags of the page and its body are."""


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read HTML, or XHTML if it begins with an XML declaration."""
    return _read(content, options, xhtml=False)


def read_xhtml(content: bytes, options: ReadingOptions) -> Document:
    """Read XHTML that needs no declaration, as in books."""
    return _read(content, options, xhtml=True)


def _read(content: bytes, options: ReadingOptions, xhtml: bool) -> Document:
    found = _DECLARED.search(content[:_HEAD])
    file = decode(content, declared_encoding((found[1] or found[2]).decode(), as_browsers=True) if found else "")
    xhtml = xhtml or file.text.lstrip().startswith("<?xml")
    rules = MarkupRules(ignore=frozenset(map(str.lower, options.ignore)), xhtml=xhtml)
    insets = find_attributes if options.attributes else None
    finish = partial(_localise, options.source, options.target) if options.target else str
    return MarkupDocument(file, rules, insets, finish)


def _localise(source: str, target: str, text: str) -> str:
    """Set the language and the direction of a translated page: browsers and screen readers go by them."""
    parts, end, place = list[str](), 0, 0
    for token in tokenise(text, html=True):
        if token.kind == "open" and token.name in ("html", "body"):
            parts += [text[end:place], _localise_tag(token.raw, source, target, first=not parts)]
            end = place + len(token.raw)
        place += len(token.raw)
        if token.name == "body" or place > _BEGINNING:
            break
    return "".join([*parts, text[end:]])


def _localise_tag(tag: str, source: str, target: str, first: bool) -> str:
    def language(found: re.Match[str]) -> str:
        same = not source or base_language(found[2]) == base_language(source)
        return found[1] + (target if same else found[2])

    direction = "rtl" if is_right_to_left(target) else "ltr"
    tag = _LANGUAGE.sub(language, tag)
    if _DIRECTION.search(tag):
        return _DIRECTION.sub(lambda found: found[1] + (found[2] if found[2] == "auto" else direction), tag)
    return f'{tag.removesuffix(">")} dir="rtl">' if first and direction == "rtl" else tag
