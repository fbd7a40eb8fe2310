"""Finds the strings of a YAML file with the keys that lead to them, without building the values."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hark.documents.formats import DocumentError

MAX_DEPTH = 500
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_NEWLINE = r"(?:\r\n|\r|\n)"
_DASH = re.compile(r"-([ \t]+|(?=[\r\n]|\Z))")
_KEY = re.compile(
    r"(?:(?P<double>\"(?:[^\"\\\r\n]|\\[^\r\n])*+\")|(?P<single>'(?:[^'\r\n]|'')*+')|"
    r"(?P<plain>(?![-?:](?:\s|\Z))[^\s,\[\]{}#&*!|>'\"%@`](?:(?!:(?:\s|\Z)|[ \t]\#)[^\r\n])*+))"
    r"[ \t]*:(?=\s|\Z)[ \t]*"
)
_PROPERTY = re.compile(r"([&!])\S*[ \t]*")
_BLOCK = re.compile(r"[|>][+-]?([1-9])?[+-]?[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z)")
_DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_SINGLE = re.compile(r"'(?:[^']|'')*+'", re.DOTALL)
_MARKER = re.compile(r"%|(?:---|\.\.\.)(?:\s|\Z)")
_NOTHING = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z)")
_CONTINUATION = re.compile(r"(?:(?![ \t]+\#|:(?:\s|\Z))[^\r\n])*+")
_SPACE = re.compile(r"(?:\s|(?<=\s)\#[^\r\n]*)*+")
_FLOW_PROPERTY = re.compile(r"[&!*][^\s,\[\]{}]*")
_PLAIN = re.compile(r"(?![-?:](?:\s|\Z))[^\s,\[\]{}#&*!|>'\"%@`](?:(?![ \t]+\#|:(?:\s|\Z))[^\r\n])*+")
_FLOW_PLAIN = re.compile(
    r"(?:(?!:(?:[\s,\[\]{}]|\Z)|[ \t]\#)[^,\[\]{}\r\n\"'#&*!|>%@`\s])"
    r"(?:(?!:(?:[\s,\[\]{}]|\Z)|[ \t]+\#)[^,\[\]{}\r\n])*+"
)
_FOLDS = re.compile(r"[ \t]*(?:\r\n|\r|\n)[ \t]*((?:(?:\r\n|\r|\n)[ \t]*)*)")
_ESCAPE = re.compile(r"\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))", re.DOTALL)
_NOT_STRING = re.compile(
    r"[~=]|<<|null|true|false|yes|no|on|off|y|n|[-+]?[\d_.,:]*(?:e[-+]?\d+)?|[-+]?0[xob][\da-f_]+|[-+]?\.(?:inf|nan)|"
    r"\d{4}-\d\d?-\d\d?(?:[Tt\s].*)?",
    re.IGNORECASE,
)
_NAMED = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", "N": "\x85",
    "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip

Style = Literal["", "'", '"', "|", ">"]
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class YamlScalar:
    """A string value: where it is written, with its quotes or as the lines of a block, and what it is."""

    start: int
    raw: str
    value: str
    style: Style
    indent: str
    """What begins each further line."""
    path: Path
    flow: bool = False


@dataclass(slots=True)
class _YamlLevel:
    """A collection in blocks: its column, and the key or the index that was read last."""

    column: int
    step: str | int


@dataclass(slots=True)
class _YamlFlowLevel:
    """A collection in brackets, and whether the next scalar is a value."""

    opening: str
    step: str | int
    value: bool


def find_scalars(text: str) -> Sequence[YamlScalar]:
    return _YamlReader(text).read()


def is_string(plain: str) -> bool:
    """Whether a scalar without quotes is a string in every version of YAML."""
    return not _NOT_STRING.fullmatch(plain)


def unquote(raw: str) -> str:
    """The value of a scalar in quotes."""
    inner = raw[1:-1]
    if raw[0] == "'":
        return _unfold(inner).replace("''", "'")
    # A backslash at the end of a line joins it with the next one; the others are read after the lines are joined.
    joined = re.sub(rf"(?<!\\)((?:\\\\)*)\\{_NEWLINE}[ \t]*", r"\1", inner)
    return _ESCAPE.sub(_character, _unfold(joined))


def _character(found: re.Match[str]) -> str:
    if code := found[1] or found[2] or found[3]:
        return chr(min(int(code, 16), 0x10FFFF))
    return _NAMED.get(found[4], found[4])


def _unfold(text: str) -> str:
    """Join lines: a line break is a space, and an empty line is a line break."""
    return _FOLDS.sub(lambda found: "\n" * len(re.findall(_NEWLINE, found[1])) or " ", text)


class _YamlReader:
    """Reads a file line by line. What it does not understand for certain, it passes over."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._levels: list[_YamlLevel] = []
        self._pending = False
        """Whether the last key or dash had no value on its line."""
        self._found: list[YamlScalar] = []

    def read(self) -> Sequence[YamlScalar]:
        at = 0
        while at < len(self._text):
            at = self._line(at)
        return self._found

    @property
    def _path(self) -> Path:
        return tuple(level.step for level in self._levels)

    def _end_of(self, pattern: re.Pattern[str], at: int) -> int:
        """Where a pattern ends that matches anything, even nothing."""
        found = pattern.match(self._text, at)
        assert found is not None
        return found.end()

    def _line_end(self, at: int) -> int:
        return self._end_of(_LINE, at)

    def _line(self, begin: int) -> int:
        """Read the line that begins here, and the further lines of its value; return where the next one begins."""
        text, end = self._text, self._line_end(begin)
        at = begin + len(text[begin:end]) - len(text[begin:end].lstrip(" "))
        if _NOTHING.match(text, at):
            return end
        if at == begin and _MARKER.match(text, at):
            self._levels.clear()
            self._pending = False
            return end
        pending, self._pending = self._pending, False
        parent = self._levels[-1].column if self._levels else -1
        while self._levels and self._levels[-1].column > at - begin:
            self._levels.pop()
        dash = None
        while dash_found := _DASH.match(text, at, end):
            dash = at - begin
            while self._levels and self._levels[-1].column > dash:
                self._levels.pop()
            if self._levels and self._levels[-1].column == dash and isinstance(step := self._levels[-1].step, int):
                self._levels[-1].step = step + 1
            else:
                self._levels.append(_YamlLevel(dash, 0))
            at = dash_found.end()
        if key := _KEY.match(text, at, end):
            column = at - begin
            while self._levels and (
                self._levels[-1].column > column
                or (self._levels[-1].column == column and isinstance(self._levels[-1].step, int))
            ):
                self._levels.pop()
            name = key["plain"] or unquote(key["double"] or key["single"])
            if self._levels and self._levels[-1].column == column:
                self._levels[-1].step = name
            else:
                self._levels.append(_YamlLevel(column, name))
            return self._value(key.end(), column, end)
        if dash is not None:
            return self._value(at, dash, end)
        if pending and at - begin > parent:
            return self._value(at, parent, end)
        if not self._levels and text[at] in "[{":
            return self._flow(at, -1)
        return end

    def _value(self, at: int, parent: int, end: int) -> int:
        """Read a value whose collection is in the column `parent`; return where the next line begins."""
        text, tagged = self._text, False
        while found := _PROPERTY.match(text, at, end):
            tagged = tagged or (found[1] == "!" and found[0].strip() not in ("!", "!!str"))
            at = found.end()
        if at >= end or _NOTHING.match(text, at):
            self._pending = not tagged
            return end
        count = len(self._found)
        match text[at]:
            case "|" | ">":
                after = self._block(at, parent)
            case '"' | "'":
                after = self._quoted(at, parent, end)
            case "[" | "{":
                after = self._flow(at, parent)
            case _:
                after = self._plain(at, parent, end)
        if tagged:
            del self._found[count:]
        return after

    def _block(self, at: int, parent: int) -> int:
        text = self._text
        header = _BLOCK.match(text, at)
        if header is None:
            return self._line_end(at)
        width = max(parent, 0) + int(header[1]) if header[1] else 0
        lines: list[str] = []
        first = last = next_ = header.end()
        filled = 0
        while next_ < len(text):
            begin, next_ = next_, self._line_end(next_)
            line = text[begin:next_]
            if not line.strip():
                if filled:
                    lines.append("")
                continue
            column = len(line) - len(line.lstrip(" "))
            width = width or column
            if column < width or width <= parent:
                next_ = begin
                break
            if not filled:
                first = begin + width
            lines.append(line[width:].rstrip("\r\n"))
            filled, last = len(lines), begin + len(line.rstrip())
        if filled:
            style: Style = "|" if text[at] == "|" else ">"
            value = "\n".join(lines[:filled]).rstrip()
            self._found.append(YamlScalar(first, text[first:last], value, style, " " * width, self._path))
        return next_

    def _quoted(self, at: int, parent: int, end: int) -> int:
        found = (_DOUBLE if self._text[at] == '"' else _SINGLE).match(self._text, at)
        if found is None:
            return end
        if _NOTHING.match(self._text, found.end()):
            self._add(found[0], at, unquote(found[0]), parent)
        return self._line_end(found.end())

    def _plain(self, at: int, parent: int, end: int) -> int:
        """Read a scalar without quotes, and its further lines."""
        text = self._text
        found = _PLAIN.match(text, at, end)
        if found is None:
            return end
        last = at + len(found[0].rstrip())
        certain = bool(_NOTHING.match(text, found.end()))
        commented = text[found.end() : end].strip() != ""
        next_ = end
        while next_ < len(text) and not commented:
            begin, after = next_, self._line_end(next_)
            line = text[begin:after]
            column = len(line) - len(line.lstrip(" \t"))
            if line.strip():
                if column <= parent or line.strip().startswith("#"):
                    break
                further = _CONTINUATION.match(text, begin + column, after)
                assert further is not None
                last = begin + column + len(further[0].rstrip())
                certain = certain and bool(_NOTHING.match(text, further.end()))
                commented = text[further.end() : after].strip() != ""
                end = after
            next_ = after
        value = _unfold(text[at:last])
        if certain and is_string(value):
            self._add(text[at:last], at, value, parent)
        return end

    def _add(self, raw: str, at: int, value: str, parent: int, path: Path = (), flow: bool = False) -> None:
        further = re.search(rf"{_NEWLINE}([ \t]+)\S", raw)
        style: Style = "'" if raw[0] == "'" else '"' if raw[0] == '"' else ""
        indent = further[1] if further else " " * (parent + 2)
        self._found.append(YamlScalar(at, raw, value, style, indent, self._path + path, flow))

    def _flow(self, at: int, parent: int) -> int:
        """Read a collection in brackets; return where the line after it begins."""
        text = self._text
        opened: list[_YamlFlowLevel] = []
        tagged = False
        while at < len(text):
            at = self._end_of(_SPACE, at)
            if at == len(text):
                break
            sign = text[at]
            if sign in "[{":
                if len(opened) >= MAX_DEPTH:
                    raise DocumentError(f"the YAML is nested more than {MAX_DEPTH} levels deep")
                opened.append(_YamlFlowLevel(sign, 0 if sign == "[" else "", sign == "["))
                at += 1
            elif sign in "]}":
                opened.pop()
                at += 1
                if not opened:
                    return self._line_end(at)
            elif sign == ",":
                level, tagged = opened[-1], False
                level.step = level.step + 1 if isinstance(level.step, int) else ""
                level.value = level.opening == "["
                at += 1
            elif sign == ":":
                opened[-1].value = True
                at += 1
            elif found := _FLOW_PROPERTY.match(text, at):
                tagged = tagged or (sign == "!" and found[0] not in ("!", "!!str"))
                at = found.end()
            elif found := (_DOUBLE if sign == '"' else _SINGLE if sign == "'" else _FLOW_PLAIN).match(text, at):
                self._flow_scalar(found, opened, parent, tagged)
                at = found.end()
            else:
                return self._line_end(at)
        return at

    def _flow_scalar(self, found: re.Match[str], opened: list[_YamlFlowLevel], parent: int, tagged: bool) -> None:
        """Take a scalar in brackets: a key, or a value."""
        text, raw = self._text, found[0].rstrip()
        after = self._end_of(_SPACE, found.end())
        following = text[after : after + 1]
        level = opened[-1]
        value = unquote(raw) if raw[0] in "\"'" else raw
        if following == ":":
            if level.opening == "{":
                level.step = value
        elif following in (",", "]", "}") and level.value and not tagged and (raw[0] in "\"'" or is_string(value)):
            path = tuple(each.step for each in opened)
            self._add(raw, found.start(), value, parent, path, flow=True)
