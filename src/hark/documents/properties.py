"""Java properties: the values; keys, comments, separators and escapes stay byte for byte."""

import re
from functools import partial

from hark.documents.encoding import DecodedText, decode
from hark.documents.formats import Document, ReadingOptions
from hark.documents.messages import EncodedMessage, is_identifier, read_message
from hark.documents.splicing import SplicedDocument

_END = r"(?:\r\n|\r|\n)"
_ENTRY = re.compile(
    rf"[ \t\f]*(?:[#!][^\r\n]*|(?P<key>(?:\\(?:\r\n|[^\r]|\Z)|[^\s\\=:])++)[ \t\f]*[=:]?[ \t\f]*"
    rf"(?P<value>(?:\\{_END}|\\.|\\\Z|[^\r\n\\])*+))?(?:{_END}|\Z)"
)
_CONTINUATION = re.compile(rf"\\{_END}[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([\da-fA-F]{4})|(.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_QUOTED_BRACE = re.compile(r"(?<!')'[^']*[{}]")
"""Braces that an apostrophe quotes in the messages of MessageFormat; such values stay as they are."""


def read(content: bytes, options: ReadingOptions) -> Document:  # noqa: ARG001
    """Read a properties file in UTF-8 or, as Java did before version 9, Latin-1."""
    file = _decode(content)
    text = file.text
    ascii_only = text.isascii() or file.encoding == "latin-1"
    messages: list[tuple[int, EncodedMessage]] = []
    for entry in _ENTRY.finditer(text):
        raw = entry["value"]
        if not raw:
            continue
        value = unescape(raw)
        quotes = bool(re.search(r"\{\d", value))
        message = read_message(value.replace("''", "'") if quotes else value)
        quoted = quotes and _QUOTED_BRACE.search(value.replace("''", ""))
        if not quoted and not is_identifier(value):
            encode = partial(_encode, raw, quotes, ascii_only)
            messages.append((entry.start("value"), EncodedMessage(raw, message, encode)))
    return SplicedDocument.of_messages(file, messages)


def _decode(content: bytes) -> DecodedText:
    try:
        content.decode()
    except UnicodeDecodeError:
        if not content.startswith((b"\xff\xfe", b"\xfe\xff")):
            return DecodedText(content.decode("latin-1"), "latin-1")
    return decode(content)


def unescape(raw: str) -> str:
    """The value that is written as `raw`."""
    plain = _ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else _PLAIN.get(found[2], found[2]), _CONTINUATION.sub("", raw)
    )
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins pairs of surrogates


def _encode(like: str, quotes: bool, ascii_only: bool, value: str) -> str:
    """Write a value with the escapes of another one, over several lines if that one was."""
    if quotes:
        value = value.replace("'", "''")
    signs = {sign for sign in ":=#!" if f"\\{sign}" in like}
    written = value.replace("\\", "\\\\").translate({ord(plain): f"\\{name}" for name, plain in _PLAIN.items()})
    written = "".join(f"\\{each}" if each in signs else each for each in written)
    if ascii_only:
        written = "".join(each if each.isascii() else _unicode(each) for each in written)
    if written.startswith(" "):
        written = "\\" + written
    continuation = _CONTINUATION.search(like)
    if continuation is None:
        return written
    width = max(map(len, _CONTINUATION.split(like)))
    lines = [""]
    for word in re.findall(r"\S+\s*|\s+", written):
        if lines[-1] and len(lines[-1] + word.rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return continuation[0].join(lines)


def _unicode(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
