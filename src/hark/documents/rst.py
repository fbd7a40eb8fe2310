"""reStructuredText: paragraphs, headings, list items and the text of directives; code, tables and layout stay."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from hark.documents.encoding import decode
from hark.documents.formats import Document, ReadingOptions
from hark.documents.placing import InlineSegment
from hark.documents.rst_inline import name_key, read_inline, references
from hark.documents.splicing import ONE_LINE, LineWrap, Splice, SplicedDocument
from hark.translate.align import Link

_LINE = re.compile(r"([ \t]*)([^\r\n]*)(\r\n|\r|\n|\Z)")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+[ \t]*")
_MARK = re.compile(r"(?:[-*+•‣⁃]|\(?(?:\d{1,9}|[a-zA-Z#]|[ivxlcdm]{2,6}|[IVXLCDM]{2,6})[.)])[ \t]+(?=\S)")
_EXPLICIT = re.compile(r"\.\.(?:[ \t]+|$)")
_DIRECTIVE = re.compile(r"\.\.[ \t]+([A-Za-z][\w.+:-]*?)::(?:[ \t]+|$)")
_NOTE = re.compile(r"\.\.[ \t]+\[[^\]\s]+\][ \t]+(?=\S)")
_FIELD = re.compile(r":(?![:\s`])((?:[^:\\]|\\.|:(?![ \t]|$))+):(?:[ \t]+|$)")
_OPTIONS = re.compile(r"(?:(?:--?|/)[\w?#][\w-]*(?:[ =]<?[\w.-]+>?)?(?:, )?)+(?:[ \t]{2,}(?=\S)|[ \t]*$)")
_GRID, _SIMPLE = re.compile(r"\+[-=]{2,}[-=+]*\+[ \t]*$"), re.compile(r"={2,}(?:[ \t]+={2,})+[ \t]*$")
_VERSION = re.compile(r"\S+[ \t]*")
_TEXT_FIELDS = ("param", "arg", "key", "return", "raise", "except", "var", "ivar", "cvar", "abstract")
_PROSE = frozenset("note warning tip hint important caution danger error attention seealso todo".split())  # noqa: SIM905
"""Directives that begin with text."""
_TITLED = frozenset("admonition topic sidebar rubric centered list-table dropdown tab tab-item details".split())  # noqa: SIM905
"""Directives with a title, and text below it."""
_VERSIONED = frozenset(("versionadded", "versionchanged", "deprecated", "versionremoved", "deprecated-removed"))
_HOLDING = frozenset(
    """
    figure container epigraph highlights pull-quote compound class only ifconfig tabs tab-set grid grid-item card parsed
    function method classmethod staticmethod property attribute data exception decorator option cmdoption envvar
    confval describe object module
    """.split()  # noqa: SIM905
)
"""Directives whose argument stays and whose content is text; so are those of domains, such as py:function."""
_WORD = re.compile(r"(?:``.+?``|\S)+")
_NOT_FIRST = re.compile(
    r"(?:[-*+•‣⁃|]|\(?(?:\d{1,9}|[a-zA-Z#]|[ivxlcdmIVXLCDM]{2,6})[.)]|\.\.|>>>|::|:[^:\s]+:|[!-/:-@\[-`{-~]{2,})$"
)
"""Words that would begin something else at the start of a line."""


@dataclass(frozen=True)
class _RstLine:
    space: str
    body: str
    end: str

    @property
    def raw(self) -> str:
        return self.space + self.body + self.end

    @property
    def indent(self) -> int:
        return len(self.space.expandtabs(8))


@dataclass(frozen=True)
class RstText(InlineSegment):
    """Lines of a paragraph that are translated together."""

    wrap: LineWrap
    literal: bool = False
    """Whether two colons at the end introduce code."""

    def fill(self, translation: str, links: Sequence[Link]) -> str:
        if translation == self.text:
            return self.raw
        filled = " ".join(self.inline.fill(translation, links).split())
        if self.literal:
            filled = filled.rstrip(" :：") + "::"
        elif filled.endswith("::"):
            filled = filled[:-1]
        lines = self.wrap.lines(_WORD.findall(filled) or [""], _NOT_FIRST)
        if _NOT_FIRST.match(lines[0].split(" ")[0]) and not _NOT_FIRST.match(self.raw.split(maxsplit=1)[0]):
            lines[0] = re.sub(r"^(\(?\w*)", r"\1\\", lines[0])
        return self.wrap.prefix.join(lines)


@dataclass(frozen=True)
class RstHeading(InlineSegment):
    """A title with the line under it, and perhaps one above, which are as long as the title."""

    title: str
    above: str
    """The line above with its end; empty if there is none."""
    space: str
    """What stands before the title."""
    below: str
    newline: str
    label: str = ""
    """The old title, if links refer to it."""

    def fill(self, translation: str, links: Sequence[Link]) -> str:
        if translation == self.text:
            return self.raw
        title = " ".join(self.inline.fill(translation, links).split())
        if not title:
            return self.raw
        if not self.above and _MARK.match(title + " x"):
            title = "\\" + title
        old, new = _width(self.title), _width(title)
        length = len(self.below.strip())
        fitted = new + length - old if self.above and length > old else new if length <= old else max(new, length)
        line = self.below[0] * max(fitted, 2)
        above = line + self.newline if self.above else ""
        label = f".. _{self.label}:{self.newline}{self.newline}" if self.label else ""
        return f"{label}{above}{self.space}{title}{self.newline}{line}"


def _width(text: str) -> int:
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def read(content: bytes, options: ReadingOptions) -> Document:  # noqa: ARG001
    """Read reStructuredText, also with the directives of Sphinx."""
    file = decode(content)
    lines = [_RstLine(*found.groups()) for found in _LINE.finditer(file.text) if found[0]]
    return SplicedDocument(file, tuple(_RstBlocks(lines, references(file.text)).read()))


class _RstBlocks:
    """Reads the blocks of a document, of any indentation: what is kept ends where the indentation does."""

    def __init__(self, lines: Sequence[_RstLine], names: Collection[str]) -> None:
        self._lines, self._names, self._at = lines, names, 0

    def read(self) -> Iterator[str | Splice]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.body.strip():
                yield self._take().raw
            elif heading := self._heading():
                yield from heading
            elif _EXPLICIT.match(line.body):
                yield from self._explicit(line)
            elif _GRID.match(line.body) or line.body.startswith(">>> "):
                yield from self._until_blank()
            elif _SIMPLE.match(line.body):
                yield from self._simple_table()
            elif _ADORNMENT.fullmatch(line.body) and line.body.strip() != "::":
                yield self._take().raw
            else:
                yield from self._text(line)

    def _take(self) -> _RstLine:
        self._at += 1
        return self._lines[self._at - 1]

    def _peek(self, number: int) -> _RstLine | None:
        return self._lines[self._at + number] if self._at + number < len(self._lines) else None

    def _heading(self) -> Sequence[str | Splice]:
        """The title that begins here; nothing if none does."""
        first, second, third = (self._peek(number) for number in range(3))
        assert first is not None
        if second is None or first.indent:
            return ()
        over = bool(_ADORNMENT.fullmatch(first.body))
        title, under = (second, third) if over else (first, second)
        if under is None or under.indent or not title.body.strip() or not _ADORNMENT.fullmatch(under.body):
            return ()
        if over and under.body.strip() != first.body.strip():
            return ()
        if len(under.body.strip()) < min(4, _width(title.body.strip())) or under.body.strip() == "::":
            return ()
        lines = [self._take() for _ in range(3 if over else 2)]
        raw, tail = "".join(line.raw for line in lines).removesuffix(under.end), under.end
        inline = read_inline(title.body.strip())
        if not inline.tree.has_words:
            return (raw, tail)
        label = title.body.strip() if name_key(title.body) in self._names else ""
        above = lines[0].raw if over else ""
        return (RstHeading(raw, inline, title.body.strip(), above, title.space, under.body, title.end, label), tail)

    def _explicit(self, line: _RstLine) -> Iterator[str | Splice]:
        """A directive, a note, a target or a comment."""
        if note := _NOTE.match(line.body):
            yield from self._paragraph(line.space + note[0], line.indent + 1, exact=False)
            return
        directive = _DIRECTIVE.match(line.body)
        name = directive[1] if directive else ""
        if directive is None or not (
            name in _PROSE or name in _TITLED or name in _VERSIONED or name in _HOLDING or ":" in name
        ):
            yield from self._kept(line.indent)
            return
        rest = line.body[directive.end() :]
        head = line.space + directive[0]
        if name in _VERSIONED:
            version = _VERSION.match(rest)
            head, rest = head + (version[0] if version else ""), rest[version.end() :] if version else rest
        if rest.strip() and (name in _PROSE or name in _VERSIONED):
            yield from self._paragraph(head, line.indent + 1, exact=False)
        elif rest.strip() and name in _TITLED:
            self._take()
            yield head
            yield from self._piece(rest, rest.strip())
            yield line.end
        else:
            yield self._take().raw
            while name not in _PROSE and (more := self._peek(0)) and more.body and more.indent > line.indent + 3:
                if _FIELD.match(more.body):
                    break
                yield self._take().raw  # another signature
        yield from self._options(line.indent)

    def _options(self, indent: int) -> Iterator[str | Splice]:
        while (line := self._peek(0)) and line.body.strip() and line.indent > indent and _FIELD.match(line.body):
            if _FIELD.match(line.body)[1].startswith(_TEXT_FIELDS):  # type: ignore[index]
                return
            yield self._take().raw

    def _kept(self, indent: int) -> Iterator[str]:
        yield self._take().raw
        yield from self._deeper(indent)

    def _deeper(self, indent: int) -> Iterator[str]:
        while (line := self._peek(0)) and (not line.body.strip() or line.indent > indent):
            yield self._take().raw

    def _until_blank(self) -> Iterator[str]:
        while (line := self._peek(0)) and line.body.strip():
            yield self._take().raw

    def _simple_table(self) -> Iterator[str]:
        """A table whose columns are underlined; it ends at a border before an empty line."""
        borders = 0
        while line := self._peek(0):
            border = bool(_ADORNMENT.fullmatch(line.body) or _SIMPLE.match(line.body))
            borders += border
            yield self._take().raw
            following = self._peek(0)
            if border and borders > 1 and (following is None or not following.body.strip()):
                return

    def _text(self, line: _RstLine) -> Iterator[str | Splice]:
        """A paragraph, perhaps with the mark of a list item, a field or a line of a poem before it."""
        head, rest = line.space, line.body
        while mark := _MARK.match(rest):
            head, rest = head + mark[0], rest[mark.end() :]
            if _EXPLICIT.match(rest) or _FIELD.match(rest) or _GRID.match(rest):
                break
        if _EXPLICIT.match(rest) or _GRID.match(rest):
            yield from self._kept(line.indent)
            return
        if field := _FIELD.match(rest):
            if not field[1].startswith(_TEXT_FIELDS) or not rest[field.end() :].strip():
                yield self._take().raw
                return
            yield from self._paragraph(head + field[0], line.indent + 1, exact=False)
        elif options := _OPTIONS.match(rest):
            if options.end() == len(rest):
                yield self._take().raw
            else:
                yield from self._paragraph(head + options[0], line.indent + 1, exact=False)
        elif rest.startswith("| "):
            yield from self._paragraph(head + "| ", len(head) + 1, exact=False)
        else:
            yield from self._paragraph(head, len(head.expandtabs(8)), exact=True)

    def _paragraph(self, head: str, indent: int, exact: bool) -> Iterator[str | Splice]:
        """Lines up to the next block. Further lines are indented as much, or more if that is not `exact`."""
        first = self._take()
        lines = [first]
        while (line := self._peek(0)) and line.body.strip() and self._continues(line, lines, indent, exact):
            lines.append(self._take())
        bodies = [first.raw[len(head) : len(first.raw) - len(first.end)], *(line.body for line in lines[1:])]
        last = bodies[-1].rstrip()
        tail = bodies[-1][len(last) :] + lines[-1].end
        literal = last.endswith("::")
        raw = "".join(line.raw for line in lines)[len(head) :].removesuffix(tail)
        joined = " ".join(body.strip() for body in bodies)
        yield head
        wrap = ONE_LINE
        if len(lines) > 1:
            width = max(len(line.space + line.body.rstrip()) for line in lines)
            wrap = LineWrap(lines[0].end + lines[1].space, width, len(head))
        yield from self._piece(raw, joined, wrap)
        yield tail
        if literal:
            yield from self._literal(indent if exact else lines[-1].indent)

    def _continues(self, line: _RstLine, lines: Sequence[_RstLine], indent: int, exact: bool) -> bool:
        if _EXPLICIT.match(line.body) and lines[-1].body.rstrip().endswith("::"):
            return False
        if not exact:
            alike = line.indent >= indent and (len(lines) == 1 or line.indent == lines[1].indent)
            return alike and not _FIELD.match(line.body) and not _MARK.match(line.body)
        return line.indent == indent and not re.match(r"[-*+•] +\S|\| ", line.body)

    def _literal(self, indent: int) -> Iterator[str]:
        """The code after two colons: what is indented, or lines that begin with the same sign."""
        while (line := self._peek(0)) and not line.body.strip():
            yield self._take().raw
        if line is None:
            return
        if line.indent > indent:
            yield from self._deeper(indent)
        elif line.indent == indent and re.match(r"[!-/:-@\[-`{-~]", line.body):
            yield from self._until_blank()

    def _piece(self, raw: str, joined: str, wrap: LineWrap = ONE_LINE) -> Iterator[str | Splice]:
        """A text to translate; as it is if it has no words."""
        literal = joined.endswith("::") and not joined.endswith(" ::")
        if joined.endswith("::"):
            joined = joined[:-1] if literal else joined[:-2].rstrip()
        inline = read_inline(joined)
        if not inline.tree.has_words:
            yield raw
        elif literal or not raw.endswith("::"):
            yield RstText(raw, inline, wrap, literal)
        else:
            inner = raw.removesuffix("::").rstrip()
            yield RstText(inner, inline, wrap)
            yield raw[len(inner) :]
