"""Takes PO files apart: entries with their fields, and where each is in the file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hark.documents.document import DocumentError
from hark.text.rewrite import Span

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FIELD = re.compile(r"[ \t]*(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d{1,2})\])?)[ \t]*(?=\")")
_QUOTED = re.compile(r"[ \t]*\"((?:[^\"\\\r\n]|\\.)*)\"[ \t]*(?:\r\n|\r|\n|\Z)")
_ESCAPE = re.compile(r"\\(?:x([\da-fA-F]{1,2})|([0-7]{1,3})|(.))")
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED = {ord(value): f"\\{name}" for name, value in (*_PLAIN.items(), ('"', '"'), ("\\", "\\"))}


@dataclass
class PoField:
    """A field of an entry, such as msgid."""

    name: str
    span: Span
    """Its lines."""
    lines: list[str]
    """Its strings, as written."""

    @property
    def value(self) -> str:
        return unescape("".join(self.lines))


@dataclass
class PoEntry:
    """A message with its translations."""

    fields: dict[str, PoField] = field(default_factory=dict)
    flags: list[Span] = field(default_factory=list)
    """Lines with flags."""
    previous: list[Span] = field(default_factory=list)
    """Lines with the message to which a fuzzy translation belongs."""
    fuzzy: bool = False

    @property
    def translations(self) -> list[PoField]:
        return [each for name, each in self.fields.items() if name.startswith("msgstr")]


def unescape(text: str) -> str:
    return _ESCAPE.sub(
        lambda found: (
            chr(int(found[1], 16))
            if found[1]
            else chr(int(found[2], 8))
            if found[2]
            else _PLAIN.get(found[3], found[3])
        ),
        text,
    )


def escape(text: str) -> str:
    return text.translate(_ESCAPED)


def read_entries(text: str) -> Iterator[PoEntry]:
    """Yield the entries of a file, except obsolete ones."""
    entry, current, at = PoEntry(), None, 0
    for number, found in enumerate(_LINE.finditer(text), 1):
        line, span = found[0], found.span()
        start = _FIELD.match(line)
        quoted = _QUOTED.fullmatch(line, start.end() if start else 0)
        if quoted and (start or current):
            if start:
                if start[1] in entry.fields or (start[1] in ("msgctxt", "msgid") and "msgid" in entry.fields):
                    yield entry
                    entry = PoEntry()
                current = entry.fields[start[1]] = PoField(start[1], span, [])
            assert current is not None
            current.lines.append(quoted[1])
            current.span = (current.span[0], span[1])
        elif not line.strip() or line.lstrip().startswith("#"):
            if entry.translations or line.startswith("#~"):
                if "msgid" in entry.fields:
                    yield entry
                entry = PoEntry()
            current = None
            if line.startswith("#,"):
                entry.flags.append(span)
                entry.fuzzy |= "fuzzy" in [flag.strip() for flag in line[2:].split(",")]
            elif line.startswith("#|"):
                entry.previous.append(span)
        else:
            raise DocumentError(f"line {number} is not PO: {line.strip()[:60]}")
        at = span[1]
    assert at == len(text)
    if "msgid" in entry.fields:
        yield entry
