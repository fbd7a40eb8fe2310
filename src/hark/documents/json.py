"""JSON: the strings at the chosen paths, or all but identifiers; layout and escapes stay byte for byte."""

import json
import re
from collections.abc import Iterator
from functools import partial

from hark.documents.encoding import decode
from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.documents.key_paths import KeyPaths
from hark.documents.messages import EncodedMessage, read_message
from hark.documents.splicing import SplicedDocument
from hark.text.rewrite import Span

MAX_DEPTH = 500
_WIDE_ESCAPE = re.compile(r"\\u(?!00[0-7])")
_TOKEN = re.compile(
    r'[ \t\r\n]*(?:(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*+")|(?P<sign>[{}\[\]:,])|'
    r"(?P<other>-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null)|(?P<end>\Z))"
)


def _find_strings(text: str) -> Iterator[tuple[Span, tuple[str | int, ...]]]:
    """Yield the spans of string values, with the keys and indexes that lead to them. Each line may be a value."""
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
                yield found.span("string"), tuple(stack)
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


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read JSON, JSON lines, and messages of Flutter (ARB)."""
    file = decode(content)
    text = file.text
    paths = KeyPaths(options.paths)
    escaped = bool(_WIDE_ESCAPE.search(text)) and text.isascii()
    messages: list[tuple[int, EncodedMessage]] = []
    for span, path in _find_strings(text):
        raw = text[slice(*span)]
        value = json.loads(raw)
        if paths.takes(path, value) and not re.search("[\ud800-\udfff]", value):
            message = EncodedMessage(raw, read_message(value), partial(_encode, raw, escaped))
            messages.append((span[0], message))
    paths.check()
    return SplicedDocument.of_messages(file, messages)


def _encode(like: str, ascii_only: bool, value: str) -> str:
    """Write a string with the escapes of another one."""
    written = json.dumps(value, ensure_ascii=ascii_only)
    return written.replace("/", "\\/") if "\\/" in like else written
