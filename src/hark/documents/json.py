"""JSON: the strings at the chosen paths, or all but identifiers; layout and escapes stay byte for byte."""

import json
import re
from collections.abc import Sequence
from functools import partial

from hark.documents.document import Document, DocumentError, ReadingOptions
from hark.documents.encoding import decode
from hark.documents.json_strings import JsonString, find_strings
from hark.documents.messages import EncodedMessage, is_identifier, read_message
from hark.documents.splicing import Splice, SplicedDocument

_NOT_TEXT = frozenset(
    """
    id ids uuid key keys type kind class lang language locale code url uri href src path file filename icon image color
    colour slug version date format charset encoding target ref
    """.split()  # noqa: SIM905
)
"""Keys whose values are not language."""
_STEP = re.compile(r"\*\*|\[(\*|\d+)\]|\.?(\*|[^.\[\]]+)|\.")
_WIDE_ESCAPE = re.compile(r"\\u(?!00[0-7])")


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read JSON, JSON lines, and messages of Flutter (ARB)."""
    file = decode(content)
    text = file.text
    patterns = [compile_path(path) for path in options.paths]
    escaped = bool(_WIDE_ESCAPE.search(text)) and text.isascii()
    parts: list[str | Splice] = []
    end, used = 0, set[int]()
    for found in find_strings(text):
        chosen = [number for number, pattern in enumerate(patterns) if pattern.fullmatch(write_path(found.path))]
        used.update(chosen)
        raw = text[slice(*found.span)]
        if not chosen and (patterns or not _is_language(found, raw)):
            continue
        value = json.loads(raw)
        message = read_message(value)
        if message.translatable and not re.search("[\ud800-\udfff]", value):
            parts += [text[end : found.span[0]], EncodedMessage(raw, message, partial(_encode, raw, escaped))]
            end = found.span[1]
    unused = [path for number, path in enumerate(options.paths) if number not in used]
    if unused:
        raise DocumentError(f"no string is at {unused[0]}; write paths as items[*].title")
    return SplicedDocument(file, [*parts, text[end:]])


def _encode(like: str, ascii_only: bool, value: str) -> str:
    """Write a string with the escapes of another one."""
    written = json.dumps(value, ensure_ascii=ascii_only)
    return written.replace("/", "\\/") if "\\/" in like else written


def write_path(path: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def compile_path(path: str) -> re.Pattern[str]:
    """A pattern for paths such as items[*].title, *.label or **.text."""
    pattern = ""
    for step in _STEP.finditer(path.removeprefix("$")):
        if step[0] == "**":
            pattern += r"(?:\.[^.\[\]]+|\[\d+\])*"
        elif step[1]:
            pattern += r"\[\d+\]" if step[1] == "*" else rf"\[{step[1]}\]"
        elif step[2]:
            pattern += r"\.[^.\[\]]+" if step[2] == "*" else rf"\.{re.escape(step[2])}"
    return re.compile(pattern)


def _is_language(found: JsonString, raw: str) -> bool:
    keys = [step for step in found.path if isinstance(step, str)]
    if any(key.startswith("@") for key in keys) or (keys and keys[-1].lower() in _NOT_TEXT):
        return False
    return not is_identifier(json.loads(raw))
