"""YAML: string values; keys, anchors, tags, comments and layout stay byte for byte.

Only what is understood for certain is read. A value that could be anything but a string stays as it is.
"""

import re
from collections.abc import Iterator
from functools import partial

from hark.documents.encoding import decode
from hark.documents.formats import Document, ReadingOptions
from hark.documents.key_paths import KeyPaths
from hark.documents.messages import EncodedMessage, read_message
from hark.documents.splicing import SplicedDocument
from hark.documents.yaml_scalars import YamlScalar, find_scalars, is_string

_CODE_KEYS = frozenset("run script before_script after_script command cmd entrypoint install".split())  # noqa: SIM905
"""Keys whose text on several lines is a program, as in the files of build servers."""

_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\x85\u2028\u2029]"
)
_INDICATOR = re.compile(r"[-?:,\[\]{}#&*!|>'\"%@`\s]|\.\.\.")
_BREAKS_PLAIN = re.compile(r":(?:\s|$)|\s#|[\n\r\t]|\s$")


def read(content: bytes, options: ReadingOptions) -> Document:
    file = decode(content)
    paths = KeyPaths(options.paths)
    messages: list[tuple[int, EncodedMessage]] = []
    for scalar in find_scalars(file.text):
        if not paths.takes(scalar.path, scalar.value) or _is_code(scalar):
            continue
        for start, raw, value in _pieces(scalar):
            messages.append((start, EncodedMessage(raw, read_message(value), partial(encode, scalar, raw))))
    paths.check()
    return SplicedDocument.of_messages(file, messages)


def _is_code(scalar: YamlScalar) -> bool:
    key = scalar.path[-1] if scalar.path else ""
    return scalar.style == "|" and (key in _CODE_KEYS or scalar.value.startswith("#!"))


def _pieces(scalar: YamlScalar) -> Iterator[tuple[int, str, str]]:
    """The parts of a scalar that are translated: where they are, as written, and their values.

    A folded block is divided into its paragraphs, whose lines are wrapped.
    """
    if scalar.style != ">":
        yield scalar.start, scalar.raw, scalar.value
        return
    indent = re.escape(scalar.indent)
    paragraph = re.compile(rf"[^\s][^\r\n]*(?:(?:\r\n|\r|\n){indent}(?=\S)[^\r\n]*)*", re.DOTALL)
    line = re.compile(r"\S[^\r\n]*")
    at = 0
    while found := line.search(scalar.raw, at):
        begin = scalar.raw[: found.start()]
        column = begin[max(begin.rfind("\n"), begin.rfind("\r")) + 1 :]
        if column in ("", scalar.indent):
            found = paragraph.match(scalar.raw, found.start()) or found
        raw = found[0].rstrip()
        yield scalar.start + found.start(), raw, re.sub(r"[ \t]*(?:\r\n|\r|\n)[ \t]*", " ", raw)
        at = found.end()


def encode(scalar: YamlScalar, raw: str, value: str) -> str:
    """Write a value in the style of a scalar, or in double quotes if that style cannot hold it."""
    newline = "\r\n" if "\r\n" in raw else "\r" if "\r" in raw else "\n"
    lines = re.split(r"\r\n|\r|\n", raw)
    width = max(map(len, lines)) if len(lines) > 1 else 0
    match scalar.style:
        case "|":
            value = _UNPRINTABLE.sub(" ", value).replace("\r", "")
            return newline.join(
                scalar.indent + line if number and line.strip() else line.rstrip() if number else line
                for number, line in enumerate(value.split("\n"))
            )
        case ">":
            value = re.sub(r"\s+", " ", _UNPRINTABLE.sub(" ", value))
            return _fold(value, newline + scalar.indent, width)
        case "'" if not _UNPRINTABLE.search(value) and not re.search(r"[\n\r\t]", value):
            return "'" + _fold(value.replace("'", "''"), newline + scalar.indent, width) + "'"
        case "":
            if _fits_plain(value, scalar.flow):
                return _fold(value, newline + scalar.indent, width if "#" not in value else 0)
            if not _UNPRINTABLE.search(value) and not re.search(r"[\n\r\t\\']", value):
                return f"'{value}'"
    ascii_only = raw.isascii() and bool(re.search(r"\\[xuU]", raw))
    written = "".join(_escape(each, ascii_only) for each in value)
    return f'"{_fold(written, newline + scalar.indent, width)}"'


def _fits_plain(value: str, flow: bool) -> bool:
    if _INDICATOR.match(value) or _BREAKS_PLAIN.search(value) or _UNPRINTABLE.search(value) or not is_string(value):
        return False
    return not (flow and re.search(r"[,\[\]{}]", value))


def _escape(character: str, ascii_only: bool) -> str:
    if character in _ESCAPED:
        return _ESCAPED[character]
    code = ord(character)
    if _UNPRINTABLE.match(character) or (ascii_only and code > 126):
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    return character


def _fold(text: str, separator: str, width: int) -> str:
    """Wrap text as its source was; on one line if that was, or if a line would begin or end with a space."""
    if not width or "  " in text or text != text.strip() or "\\ " in text:
        return text
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return separator.join(lines)
