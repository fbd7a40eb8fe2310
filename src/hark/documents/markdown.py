"""Markdown: paragraphs, headings, list items and table cells; code, front matter, links and layout stay as they are."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from hark.documents.encoding import decode
from hark.documents.formats import Document, ReadingOptions
from hark.documents.markdown_inline import label_key, read_inline
from hark.documents.markup import Markup
from hark.documents.markup_tokens import BLOCKS, MarkupRules
from hark.documents.placing import InlineSegment
from hark.documents.splicing import ONE_LINE, LineWrap, Splice, SplicedDocument
from hark.translate.align import Link

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_HEAD = re.compile(
    r"(?P<quote>[ \t]*(?:>[ \t]?)*)(?P<indent>[ \t]*)"
    r"(?P<mark>(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$))*(?:\[[ xX]\][ \t]+)?)(?P<label>\[\^[^\]\s]+\]:[ \t]*)?"
)
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})|(\$\$)[ \t]*$")
_END = r"[ \t]*(?:\r\n|\r|\n|\Z)"
_FRONT = re.compile(rf"(---|\+\+\+){_END}(?:.*?(?<=[\r\n]))??(?:\1|\.\.\.){_END}", re.DOTALL)
_RULE = re.compile(r"([-*_])(?:[ \t]*\1){2,}[ \t]*$|=+[ \t]*$|-+[ \t]*$")
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+|$)")
_REFERENCE = re.compile(r"[ \t]{0,3}\[(?!\^)((?:[^\[\]\\]|\\.)+)\]:[ \t]*\S")
_DIRECTIVE = re.compile(r"(?:!!!|\?\?\?\+?|===|:::+|\{%|\{\{[<%])")
_DELIMITERS = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_CELL = re.compile(r"(?:\\.|`+[^`]*`+|[^|\\`]|[\\`])+")
_HTML_BLOCKS = "|".join((*sorted(BLOCKS), *["iframe", "script", "style", "svg", "video", "audio", "picture", "source"]))
_HTML = re.compile(rf"</?(?:{_HTML_BLOCKS})(?=[\s/>]|$)|<!--|<\?|<![A-Z]", re.IGNORECASE)
_LONG_HTML = re.compile(r"<(script|pre|style|textarea)\b|<(!--)|<(\?)", re.I)
_BLOCK_STARTS = (_FENCE, _HEADING, _HTML, _DIRECTIVE, _RULE)
_NOT_FIRST = re.compile(r"(?:[-+*>]|#{1,6}|\d{1,9}[.)]|[=-]+|\|.*|:{3}.*|<.*)$")
"""Words that would begin something else at the start of a line."""


@dataclass(frozen=True)
class MarkdownText(InlineSegment):
    """Lines of a paragraph that are translated together."""

    wrap: LineWrap
    cell: bool = False

    def fill(self, translation: str, links: Sequence[Link]) -> str:
        if translation == self.text:
            return self.raw
        filled = self.inline.fill(" ".join(translation.split()) if "\n" in translation else translation, links)
        if self.cell:
            return re.sub(r"(?<!\\)\|", r"\\|", filled)
        lines = self.wrap.lines(filled.split(" "), _NOT_FIRST)
        if _NOT_FIRST.match(lines[0].split(" ")[0]) and not _NOT_FIRST.match(self.raw.split(" ")[0].split("\n")[0]):
            lines[0] = re.sub(r"^(\d*)", r"\1\\", lines[0])
        return self.wrap.prefix.join(lines)


@dataclass(frozen=True)
class _Line:
    """A line: what begins it in a list or quote, its text, and its end."""

    head: str
    body: str
    end: str
    quotes: int
    marked: bool
    indent: int
    content: int
    """The column where its text begins."""

    @property
    def raw(self) -> str:
        return self.head + self.body + self.end


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read Markdown (CommonMark with tables, footnotes and front matter)."""
    file = decode(content)
    front = _FRONT.match(file.text)
    start = front.end() if front else 0
    lines = [_read_line(*found.groups()) for found in _LINE.finditer(file.text, start) if found[0]]
    labels = {label_key(found[1]) for line in lines if (found := _REFERENCE.match(line.head + line.body))}
    reader = _Blocks(lines, labels, options)
    return SplicedDocument(file, (file.text[:start], *reader.read()))


def _read_line(text: str, end: str) -> _Line:
    head = _HEAD.match(text)
    assert head is not None
    raw, mark = head[0], head["mark"]
    rule = text[len(head["quote"]) :].strip()
    if _RULE.match(rule):  # `- - -` is not a list
        raw, mark = text[: len(text) - len(text[len(head["quote"]) :].lstrip())], ""
    indent = len((head["quote"].replace(">", " ") + head["indent"]).expandtabs(4))
    return _Line(
        raw,
        text[len(raw) :],
        end,
        head["quote"].count(">"),
        bool(mark or head["label"]),
        indent,
        len(raw.expandtabs(4)),
    )


class _Blocks:
    def __init__(self, lines: Sequence[_Line], labels: Collection[str], options: ReadingOptions) -> None:
        self._lines, self._labels, self._images = lines, labels, options.attributes
        self._html = MarkupRules(ignore=frozenset(map(str.lower, options.ignore)))
        self._at = 0
        self._columns: list[int] = []
        """Where the text of the list items begins in which the line may be."""

    def read(self) -> Iterator[str | Splice]:
        blank = True
        while line := self._peek():
            if not line.body.strip():
                if line.marked:
                    self._columns.append(line.content)
                yield self._take().raw
                blank = True
                continue
            if blank:
                while self._columns and line.indent < self._columns[-1]:
                    self._columns.pop()
            if blank and line.indent >= 4 + (self._columns[-1] if self._columns else 0):  # code
                yield self._take().raw
                continue
            if line.marked:
                while self._columns and line.indent < self._columns[-1]:
                    self._columns.pop()
                self._columns.append(line.content)
            yield from self._block(line)
            blank = False

    def _peek(self) -> _Line | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _take(self) -> _Line:
        self._at += 1
        return self._lines[self._at - 1]

    def _block(self, line: _Line) -> Iterator[str | Splice]:
        if fence := _FENCE.match(line.body):
            yield "".join(self._fenced(fence[1] or fence[2] or fence[3]))
        elif heading := _HEADING.match(line.body):
            self._take()
            body = line.body[heading.end() :]
            inner = re.sub(r"(?:^|[ \t]+)#+[ \t]*$|[ \t]*\{[#.][^{}]*\}[ \t]*$", "", body).rstrip()
            yield line.head + heading[0]
            yield self._text(inner)
            yield body[len(inner) :] + line.end
        elif _DIRECTIVE.match(line.body):
            self._columns.append(line.content + 4)
            yield self._take().raw
        elif _RULE.match(line.body) or _REFERENCE.match(line.head + line.body):
            yield self._take().raw
        elif _HTML.match(line.body):
            yield from Markup("".join(self._html_block()), self._html).parts()
        elif "|" in line.body and self._is_table():
            while (row := self._peek()) and "|" in row.body:
                yield from self._row(self._take())
        else:
            yield from self._paragraph()

    def _fenced(self, fence: str) -> Iterator[str]:
        first = self._take()
        yield first.raw
        while (line := self._peek()) and line.quotes >= first.quotes:
            yield self._take().raw
            if re.fullmatch(rf"[ \t>]*{re.escape(fence)}{re.escape(fence[0])}*[ \t]*", line.head + line.body):
                return

    def _html_block(self) -> Iterator[str]:
        """The lines up to the next blank one, or up to the end of a script or a comment."""
        closing = ""
        if found := _LONG_HTML.match(self._lines[self._at].body):
            closing = f"</{found[1].lower()}" if found[1] else "-->" if found[2] else "?>"
        while (line := self._peek()) and (closing or line.body.strip()):
            yield self._take().raw
            if closing and closing in line.raw.lower():
                return

    def _is_table(self) -> bool:
        if self._at + 1 >= len(self._lines):
            return False
        following = self._lines[self._at + 1]
        return bool(_DELIMITERS.match(following.head + following.body) or _DELIMITERS.match(following.body)) and (
            "|" in following.raw
        )

    def _row(self, line: _Line) -> Iterator[str | Splice]:
        yield line.head
        end = 0
        for cell in _CELL.finditer(line.body):
            inner = cell[0].strip()
            start = cell.start() + cell[0].index(inner)
            yield line.body[end:start]
            yield self._text(inner, cell=True)
            end = start + len(inner)
        yield line.body[end:] + line.end

    def _paragraph(self) -> Iterator[str | Splice]:
        """Lines up to the next block; a line break that is meant as one ends a text."""
        lines = [self._take()]
        while (line := self._peek()) and self._continues(line):
            lines.append(self._take())
        chunk: list[_Line] = []
        for number, line in enumerate(lines, 1):
            chunk.append(line)
            if line.body.endswith(("  ", "\\")) or number == len(lines):
                yield from self._joined(chunk)
                chunk = []

    def _continues(self, line: _Line) -> bool:
        body = line.body
        if not body.strip() or line.marked or any(start.match(body) for start in _BLOCK_STARTS):
            return False
        if line.quotes > self._lines[self._at - 1].quotes or _REFERENCE.match(line.head + body):
            return False
        return not ("|" in body and self._is_table())

    def _joined(self, lines: Sequence[_Line]) -> Iterator[str | Splice]:
        bodies = [line.body.rstrip().removesuffix("\\").rstrip() for line in lines]
        last = lines[-1]
        yield lines[0].head
        raw = "".join(line.raw for line in lines[:-1])[len(lines[0].head) :] + (last.head if len(lines) > 1 else "")
        raw += bodies[-1]
        if len(lines) == 1:
            yield self._text(raw)
        else:
            prefix = lines[0].end + lines[1].head
            width = max(len(line.head + line.body) for line in lines)
            joined = " ".join(body.strip() for body in bodies)
            yield self._text(raw, joined, LineWrap(prefix, width, len(lines[0].head)))
        yield last.body[len(bodies[-1]) :] + last.end

    def _text(self, raw: str, joined: str = "", wrap: LineWrap = ONE_LINE, cell: bool = False) -> str | Splice:
        """A text to translate; as it is if it has no words."""
        if not any(map(str.isalpha, raw)):
            return raw
        inline = read_inline(joined or raw, self._labels, self._images)
        return MarkdownText(raw, inline, wrap, cell) if inline.tree.has_words else raw
