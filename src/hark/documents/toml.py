"""TOML: string values; keys, numbers, comments and layout stay byte for byte."""

import re
import tomllib
from collections.abc import Iterator
from functools import partial

from hark.documents.encoding import decode
from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.documents.key_paths import KeyPaths
from hark.documents.messages import EncodedMessage, read_message
from hark.documents.splicing import SplicedDocument
from hark.text.rewrite import Span

_TOKEN = re.compile(
    r'(?P<string>"""(?:\\.|[^\\])*?"""(?:""|")?|'
    r"'''.*?'''(?:''|')?|"
    r'"(?:\\.|[^"\\\r\n])*+"|'
    r"'[^'\r\n]*+')|"
    r"(?P<comment>#[^\r\n]*+)|(?P<newline>\r\n|\n)|(?P<sign>[\[\]{},=.])|(?P<bare>[^\s\[\]{},=.#\"']++)|[ \t]++",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|([ \t]*\r?\n\s*)|(.))", re.DOTALL)
_PLAIN = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}
_ESCAPED = {plain: f"\\{name}" for name, plain in _PLAIN.items() if name != "e"} | {"\\": "\\\\", '"': '\\"'}
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def read(content: bytes, options: ReadingOptions) -> Document:
    file = decode(content)
    text = file.text
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"the file is not valid TOML: {error}") from None
    except RecursionError:
        raise DocumentError("the TOML is nested too deep") from None
    paths = KeyPaths(options.paths)
    messages: list[tuple[int, EncodedMessage]] = []
    for span, path in _find_strings(text):
        raw = text[slice(*span)]
        value = unescape(raw)
        if paths.takes(path, value):
            messages.append((span[0], EncodedMessage(raw, read_message(value), partial(_encode, raw))))
    paths.check()
    return SplicedDocument.of_messages(file, messages)


def unescape(raw: str) -> str:
    """The value that is written as `raw`, with its quotes."""
    quotes = raw[:3] if raw.startswith(('"""', "'''")) else raw[:1]
    inner = raw[len(quotes) : -len(quotes)]
    if len(quotes) == 3:
        inner = re.sub(r"\A\r?\n", "", inner).replace("\r\n", "\n")
    return inner if quotes[0] == "'" else _ESCAPE.sub(_plain, inner)


def _plain(found: re.Match[str]) -> str:
    if code := found[1] or found[2]:
        return chr(int(code, 16))
    return "" if found[3] is not None else _PLAIN.get(found[4], found[4])


def _encode(like: str, value: str) -> str:
    """Write a value with the quotes of another one, or with double quotes if those cannot hold it."""
    if not like.startswith(('"""', "'''")):
        if like.startswith("'") and "'" not in value and not _CONTROL.search(value):
            return f"'{value}'"
        return f'"{_escape(value)}"'
    newline = "\r\n" if "\r\n" in like else "\n"
    head = newline if re.match(r"...\r?\n", like, re.DOTALL) or value.startswith("\n") else ""
    if (
        like.startswith("'''")
        and "''" not in value
        and value[-1:] != "'"
        and not _CONTROL.search(value.replace("\n", ""))
    ):
        return f"'''{head}{value.replace(chr(10), newline)}'''"
    body = newline.join(map(_escape, value.split("\n")))
    if '\\"' not in like:  # quotes need no escapes here, but three of them do
        body = re.sub(r'\\"(?!\\"|\Z)', '"', body)
    return f'"""{head}{body}"""'


def _escape(value: str) -> str:
    return "".join(
        _ESCAPED.get(each) or (f"\\u{ord(each):04x}" if _CONTROL.match(each) else each) if each != "\t" else each
        for each in value
    )


def _find_strings(text: str) -> Iterator[tuple[Span, tuple[str | int, ...]]]:
    """Yield the spans of string values, with the keys and indexes that lead to them; the text is valid TOML."""
    table: list[str | int] = []
    opened: list[tuple[str, list[str | int]]] = []  # arrays and inline tables, with the path to them
    keys: list[str | int] = []
    expects_key, header, depth = True, False, 0
    counts: dict[tuple[str | int, ...], int] = {}
    for token in _TOKEN.finditer(text):
        raw, sign, newline = token["string"], token["sign"], token["newline"]
        key = token["bare"] if raw is None else unescape(raw)
        if newline is not None:
            if not opened:
                if header:
                    table = [*keys]
                    if depth == 2:
                        counts[tuple(keys)] = counts.get(tuple(keys), -1) + 1
                    header, depth = False, 0
                keys, expects_key = [], True
        elif header or (sign == "[" and expects_key and not opened and not keys):
            header = True
            depth += sign == "["
            if key is not None:
                keys.append(key)
        elif expects_key:
            if key is not None:
                keys.append(key)
            elif sign == "=":
                expects_key = False
            elif sign == "}":
                keys, expects_key = opened.pop()[1], False
        elif raw is not None:
            above = [step for _, steps in opened for step in steps]
            yield token.span(), (*_numbered(table, counts), *above, *keys)
        elif sign == "[":
            opened.append(("[", keys))
            keys = [0]
        elif sign == "{":
            opened.append(("{", keys))
            keys, expects_key = [], True
        elif sign == "," and opened:
            if opened[-1][0] == "[":
                index = keys[0]
                assert isinstance(index, int)
                keys = [index + 1]
            else:
                keys, expects_key = [], True
        elif sign in ("]", "}") and opened:
            keys = opened.pop()[1]


def _numbered(table: list[str | int], counts: dict[tuple[str | int, ...], int]) -> Iterator[str | int]:
    """The path to a table, with the numbers of those in arrays of tables."""
    for place, key in enumerate(table):
        yield key
        if (number := counts.get(tuple(table[: place + 1]))) is not None:
            yield number
