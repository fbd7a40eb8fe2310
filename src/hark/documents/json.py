"""JSON: the strings at the chosen paths, or all but identifiers; layout and escapes stay byte for byte.

Finds the strings of a JSON file with their paths, without building the values, whose layout would be lost.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from hark.documents.document import Document, DocumentError, ReadingOptions
from hark.documents.encoding import decode
from hark.documents.key_paths import KeyPaths
from hark.documents.messages import EncodedMessage, read_message
from hark.documents.splicing import Splice, SplicedDocument
from hark.text.rewrite import Span

MAX_DEPTH = 500
_TOKEN = re.compile(
    r'[ \t\r\n]*(?:(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*+")|(?P<sign>[{}\[\]:,])|'
    r"(?P<other>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null)|(?P<end>\Z))"
)


@dataclass(frozen=True, slots=True)
class JsonString:
    """A string value: its span with the quotes, and the keys and indexes that lead to it."""

    span: Span
    path: tuple[str | int, ...]


def find_strings(text: str) -> Iterator[JsonString]:
    """Yield the string values of a JSON file, or of one with a value on each line."""
    stack: list[str | int] = []  # the key or the index at each depth
    opened: list[str] = []
    expected = "value"
    at = 0
    while True:
        found = _TOKEN.match(text, at)
        if found is None:
            raise _error(text, at)
        at = found.end()
        sign, raw = found["sign"], found["string"]
        if found["end"] is not None:
            if opened or expected == "key":
                raise _error(text, at)
            return
        if raw is not None and expected in ("key", "key or end"):
            stack[-1] = json.loads(raw)
            expected = "colon"
        elif sign == ":" and expected == "colon":
            expected = "value"
        elif (raw is not None or found["other"] is not None) and expected in ("value", "value or end"):
            if raw is not None:
                yield JsonString(found.span("string"), tuple(stack))
            expected = "comma" if opened else "value"
        elif sign in ("{", "[") and expected in ("value", "value or end"):
            if len(opened) >= MAX_DEPTH:
                raise DocumentError(f"the JSON is nested more than {MAX_DEPTH} levels deep")
            opened.append(sign)
            stack.append("" if sign == "{" else 0)
            expected = "key or end" if sign == "{" else "value or end"
        elif sign == "," and expected == "comma":
            if opened[-1] == "[":
                index = stack[-1]
                assert isinstance(index, int)
                stack[-1] = index + 1
            expected = "key" if opened[-1] == "{" else "value"
        elif sign in ("}", "]") and opened and opened[-1] == {"}": "{", "]": "["}[sign]:
            if expected not in ("comma", "key or end" if sign == "}" else "value or end"):
                raise _error(text, at - 1)
            opened.pop()
            stack.pop()
            expected = "comma" if opened else "value"
        else:
            raise _error(text, found.start())


def _error(text: str, at: int) -> DocumentError:
    return DocumentError(f"line {text.count(chr(10), 0, at) + 1} is not valid JSON")


_WIDE_ESCAPE = re.compile(r"\\u(?!00[0-7])")


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read JSON, JSON lines, and messages of Flutter (ARB)."""
    file = decode(content)
    text = file.text
    paths = KeyPaths(options.paths)
    escaped = bool(_WIDE_ESCAPE.search(text)) and text.isascii()
    parts: list[str | Splice] = []
    end = 0
    for found in find_strings(text):
        raw = text[slice(*found.span)]
        value = json.loads(raw)
        if not paths.takes(found.path, value):
            continue
        message = read_message(value)
        if message.translatable and not re.search("[\ud800-\udfff]", value):
            parts += [text[end : found.span[0]], EncodedMessage(raw, message, partial(_encode, raw, escaped))]
            end = found.span[1]
    paths.check()
    return SplicedDocument(file, [*parts, text[end:]])


def _encode(like: str, ascii_only: bool, value: str) -> str:
    """Write a string with the escapes of another one."""
    written = json.dumps(value, ensure_ascii=ascii_only)
    return written.replace("/", "\\/") if "\\/" in like else written
