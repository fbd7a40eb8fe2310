"""JSON: the strings at the chosen paths, or all but identifiers; layout and escapes stay byte for byte."""

import json
import re
from functools import partial

from hark.documents.document import Document, ReadingOptions
from hark.documents.encoding import decode
from hark.documents.json_strings import find_strings
from hark.documents.key_paths import KeyPaths
from hark.documents.messages import EncodedMessage, read_message
from hark.documents.splicing import Splice, SplicedDocument

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
