"""Apple's plural rules (stringsdict): the texts of each form; keys and layout stay byte for byte."""

import re
from itertools import pairwise

from hark.documents.document import Document, ReadingOptions
from hark.documents.messages import EncodedMessage
from hark.documents.splicing import SplicedDocument
from hark.documents.xml import decode_xml
from hark.documents.xml_elements import XmlElements, read_escaped

_TEXTS = frozenset(("NSStringLocalizedFormatKey", "zero", "one", "two", "few", "many", "other"))
"""Keys whose strings are shown."""
_VARIABLE = re.compile(r"%(?:\d+\$)?#@\w+@")


def read(content: bytes, options: ReadingOptions) -> Document:  # noqa: ARG001
    """Read a property list with the forms of messages."""
    file = decode_xml(content)
    elements = XmlElements.of(file.text)
    opened = [number for number, token in enumerate(elements.tokens) if token.kind == "open"]
    messages: list[tuple[int, EncodedMessage]] = []
    for key, value in pairwise(opened):
        names = elements.tokens[key].name, elements.tokens[value].name
        if names == ("key", "string") and elements.content(key).strip() in _TEXTS:
            messages.append((elements.span(value)[0], read_escaped(elements.content(value), _VARIABLE)))
    return SplicedDocument.of_messages(file, messages, "xml")
