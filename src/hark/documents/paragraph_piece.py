"""One text of a paragraph: its segment, and its source with a translation.

The formats, links, notes and other things inside are placed in the translation by `placing`, which works on text with
tags. Tags here are numbers between control characters, which XML cannot contain; what a number stands for is written
when the tags are in their places.

What paragraphs of office files are made of: formatted text, elements around it, and things that are kept.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from hark.documents.document import Segment, SegmentTranslation
from hark.documents.placing import Element, Mark, place, placeholders
from hark.documents.xml_nodes import CONTROL
from hark.text.rewrite import Span
from hark.translate.align import Link


class TextFormat(Protocol):
    """The look of a run of text. Equal formats are merged."""

    def write(self, text: str) -> str:
        """The source of a run with this text."""
        ...


@dataclass
class TextRun:
    """Text in one format."""

    text: str
    format: TextFormat


@dataclass
class Wrap:
    """Content in an element: a link, an insertion, a content control."""

    opening: str
    closing: str
    children: "list[Item]"


@dataclass
class Kept:
    """Something that is written as it was: a note's number, a picture, a field."""

    raw: str
    placeholder: bool = False
    """Whether readers see it as a part of the sentence, such as a page number."""
    ordered: bool = False
    """Whether it is one half of something, such as the beginning of a bookmark: such halves keep their order."""
    splits: bool = False
    """Whether it ends a sentence, as tabs do."""
    line_break: bool = False
    """Whether it is a line break, which ends a sentence unless the next line continues in lower case."""


@dataclass
class Half(Kept):
    """The beginning or end of a range, such as a bookmark's."""

    ordered: bool = True
    key: str = ""
    opens: bool = False


Item = TextRun | Wrap | Kept


def emit(items: Iterable[Item]) -> str:
    """The source of items as they are."""
    parts: list[str] = []
    for item in items:
        match item:
            case TextRun():
                parts.append(item.format.write(item.text))
            case Wrap():
                parts += [item.opening, emit(item.children), item.closing]
            case Kept():
                parts.append(item.raw)
    return "".join(parts)


def visible(items: Iterable[Item]) -> str:
    """The text of items."""
    return "".join(
        item.text if isinstance(item, TextRun) else visible(item.children) if isinstance(item, Wrap) else ""
        for item in items
    )


_TAG = re.compile("\x01(\\d+)\x02")
_Effect = Literal["open", "close", "raw", "break"]
_Action = tuple[_Effect, TextFormat | None, str]
"""What a tag stands for: a format begins or ends, or source is written, which may be a line break."""


@dataclass
class ParagraphPiece:
    """A text to translate with what is inside."""

    items: list[Item]
    segment: Segment = field(init=False)

    def __post_init__(self) -> None:
        builder = _TreeBuilder(self.items)
        stripped = builder.text.strip()
        self._text, self._root, self._actions = builder.text, builder.root, builder.actions
        self._base = builder.base
        self._lead = builder.text[: builder.text.index(stripped)]
        self._tail = builder.text[len(self._lead) + len(stripped) :]
        self.segment = Segment(stripped, bool(builder.root.children))

    def fill(self, translation: SegmentTranslation) -> str:
        """The source of the text translated."""
        if translation.text == self.segment.text:
            return emit(self.items)
        text = translation.text.strip()
        if not self._root.children:
            return self._base.write(_clean(f"{self._lead}{text}{self._tail}"))
        lead = len(self._lead)
        shift = lead - (len(translation.text) - len(translation.text.lstrip()))
        links = translation.links
        if lead or shift:
            links = [Link(_move(each.source, lead), _move(each.target, shift), each.weight) for each in links]
        return self._write(place(self._root, self._text, f"{self._lead}{text}{self._tail}", links, _clean))

    def _write(self, tagged: str) -> str:
        """Replace tags by what they stand for, and put runs around the text between them."""
        output: list[str] = []
        formats = [self._base]
        pending, broken = "", False
        parts = _TAG.split(tagged)
        for text, number in zip(parts[::2], [*parts[1::2], ""], strict=True):
            pending += text
            if not number:
                break
            kind, new, raw = self._actions[int(number)]
            if kind == "break":
                pending = pending.rstrip(" ")
            if broken:
                pending = pending.lstrip(" ")
            broken = kind == "break"
            output.append(formats[-1].write(pending))
            pending = ""
            if kind == "open" and new is not None:
                formats.append(new)
            elif kind == "close":
                formats.pop()
            output.append(raw)
        return "".join([*output, formats[-1].write(pending.lstrip(" ") if broken else pending)])


def _move(span: Span, by: int) -> Span:
    return max(0, span[0] + by), max(0, span[1] + by)


def _clean(text: str) -> str:
    return CONTROL.sub(" ", text)


class _TreeBuilder:
    """Builds the text and the tree of tags of a piece."""

    def __init__(self, items: list[Item]) -> None:
        self.text = ""
        self.root = Element("", "", 0, 0)
        self.actions: list[_Action] = []
        self._holders = placeholders(visible(items))
        found = _main_format(items)
        assert found is not None
        self.base = found
        self._add(self.root, items, found)
        self.root.end = len(self.text)

    def _tag(self, kind: _Effect, new: TextFormat | None = None, raw: str = "") -> str:
        self.actions.append((kind, new, raw))
        return f"\x01{len(self.actions) - 1}\x02"

    def _add(self, parent: Element, items: list[Item], base: TextFormat) -> None:
        current: tuple[Element, TextFormat] | None = None
        waiting: list[Element | Mark] = []
        for item in _smooth(items):
            match item:
                case TextRun() if current and item.format == current[1]:
                    element = current[0]
                    element.children += waiting
                    waiting = []
                    self.text += item.text
                    element.end = len(self.text)
                case TextRun():
                    parent.children += waiting
                    waiting, current = [], None
                    if item.format == base:
                        self.text += item.text
                        continue
                    start = len(self.text)
                    self.text += item.text
                    element = Element(self._tag("open", item.format), self._tag("close"), start, len(self.text))
                    parent.children.append(element)
                    current = element, item.format
                case Wrap():
                    parent.children += waiting
                    waiting, current = [], None
                    inner = _main_format(item.children) or base
                    opening, closing = self._tag("open", inner, item.opening), self._tag("close", None, item.closing)
                    element = Element(opening, closing, len(self.text), 0)
                    parent.children.append(element)
                    self._add(element, item.children, inner)
                    element.end = len(self.text)
                case Kept():
                    tag = self._tag("break" if item.line_break else "raw", None, item.raw)
                    mark = Mark(tag, len(self.text), ordered=item.ordered)
                    if item.placeholder:
                        mark.placeholder = next(self._holders)
                        self.text += mark.placeholder
                    elif item.line_break and not self.text.endswith(" "):
                        self.text += " "
                    waiting.append(mark)
        parent.children += waiting


def _main_format(items: Iterable[Item]) -> TextFormat | None:
    """The format of most of the text; that of the elements inside if there is no text beside them."""
    sizes = Counter[TextFormat]()
    for item in items:
        if isinstance(item, TextRun):
            sizes[item.format] += len(item.text)
    if sizes:
        return max(sizes, key=lambda each: sizes[each])
    inner = (_main_format(item.children) for item in items if isinstance(item, Wrap))
    return next((each for each in inner if each is not None), None)


def _smooth(items: list[Item]) -> Iterator[Item]:
    """Give white space between runs the format of the run before, and leave out empty runs."""
    last: TextFormat | None = None
    for item in items:
        if not isinstance(item, TextRun):
            last = last if isinstance(item, Kept) else None
            yield item
        elif item.text:
            last = item.format if last is None or not item.text.isspace() else last
            yield TextRun(item.text, last)
