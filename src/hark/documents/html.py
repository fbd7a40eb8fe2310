"""HTML and XHTML: text with its inline tags; markup, scripts and comments stay as they are."""

import re
from functools import partial

from hark.documents.document import Document, ReadingOptions
from hark.documents.encoding import declared_encoding, decode
from hark.documents.markup_document import MarkupDocument, find_attributes
from hark.documents.markup_rules import MarkupRules

_DECLARED = re.compile(
    rb"<\?xml[^>]{1,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})|<meta[^>]{1,400}?charset\s*=\s*[\"']?([\w.:-]{1,40})", re.I
)
_PAGE = re.compile(r"<html\b[^>]{0,2000}>", re.IGNORECASE)
_LANGUAGE = re.compile(r"(\s(?:xml:)?lang\s*=\s*[\"']?)[\w-]+", re.IGNORECASE)
_HEAD = 4096
"""Bytes in which the encoding is declared; the standard asks for 1,024."""


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
    return MarkupDocument(file, rules, insets, partial(_state_language, options.target) if options.target else str)


def _state_language(target: str, text: str) -> str:
    """Set the language of the page, if it states one: screen readers and browsers go by it."""
    page = _PAGE.search(text)
    if page is None:
        return text
    return text[: page.start()] + _LANGUAGE.sub(rf"\g<1>{target}", page[0]) + text[page.end() :]
