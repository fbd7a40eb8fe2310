"""Apple's strings files and plural rules (stringsdict): the texts; keys, comments and layout stay byte for byte."""

import re
from itertools import pairwise

from hark.documents.encoding import decode
from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.documents.messages import EncodedMessage, is_identifier, read_message
from hark.documents.splicing import SplicedDocument
from hark.documents.xml import decode_xml
from hark.documents.xml_elements import XmlElements, read_escaped

_STRING = r'"(?:[^"\\]|\\.)*+"'
_ENTRY = re.compile(
    rf"\s*(?:/\*.*?\*/|//[^\r\n]*|(?:{_STRING}|[\w.$/-]+)(?:\s*=\s*({_STRING}|[\w.$/-]+))?\s*;|\Z)", re.DOTALL
)
_ESCAPE = re.compile(r"\\(?:[Uu]([\da-fA-F]{4})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r"}
_ESCAPED = {ord(plain): f"\\{name}" for name, plain in (*_PLAIN.items(), ("\\", "\\"), ('"', '"'))}
_TEXTS = frozenset(("NSStringLocalizedFormatKey", "zero", "one", "two", "few", "many", "other"))
"""Keys whose strings are shown."""
_VARIABLE = re.compile(r"%(?:\d+\$)?#@\w+@")


def read(content: bytes, options: ReadingOptions) -> Document:  # noqa: ARG001
    """Read a strings file in UTF-8 or UTF-16."""
    file = decode(content)
    text = file.text
    messages: list[tuple[int, EncodedMessage]] = []
    at = 0
    while at < len(text):
        entry = _ENTRY.match(text, at)
        if entry is None:
            line = text.count("\n", 0, at + len(text[at:]) - len(text[at:].lstrip())) + 1
            raise DocumentError(f'line {line} is not "key" = "value";')
        at = entry.end()
        raw = entry[1]
        if not raw or not raw.startswith('"'):
            continue
        value = unescape(raw[1:-1])
        if not is_identifier(value):
            messages.append((entry.start(1), EncodedMessage(raw, read_message(value), _encode)))
    return SplicedDocument.of_messages(file, messages)


def unescape(raw: str) -> str:
    """The value that is written as `raw`."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _PLAIN.get(found[2], found[2]), raw)


def _encode(value: str) -> str:
    return f'"{value.translate(_ESCAPED)}"'


def read_plurals(content: bytes, options: ReadingOptions) -> Document:  # noqa: ARG001
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
