"""Apple's plural rules (stringsdict): the texts of each form; keys and layout stay byte for byte."""

import re
from itertools import pairwise

from hark.documents.document import Document, ReadingOptions
from hark.documents.splicing import Splice, SplicedDocument
from hark.documents.xml import decode_xml
from hark.documents.xml_document import XmlElements, read_escaped

_TEXTS = frozenset(("NSStringLocalizedFormatKey", "zero", "one", "two", "few", "many", "other"))
"""Keys whose strings are shown."""
_VARIABLE = re.compile(r"%(?:\d+\$)?#@\w+@")


def read(content: bytes, options: ReadingOptions) -> Document:  # noqa: ARG001
    """Read a property list with the forms of messages."""
    file = decode_xml(content)
    elements = XmlElements.of(file.text)
    opened = [number for number, token in enumerate(elements.tokens) if token.kind == "open"]
    parts: list[str | Splice] = []
    end = 0
    for key, value in pairwise(opened):
        names = elements.tokens[key].name, elements.tokens[value].name
        if names != ("key", "string") or elements.content(key).strip() not in _TEXTS:
            continue
        start, stop = elements.span(value)
        message = read_escaped(file.text[start:stop], _VARIABLE)
        if message.message.translatable:
            parts += [file.text[end:start], message]
            end = stop
    return SplicedDocument(file, [*parts, file.text[end:]], "xml")
