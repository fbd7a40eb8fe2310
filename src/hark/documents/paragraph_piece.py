"""Paragraphs of office files: runs of formatted text become segments, and translations become runs.

A sentence is translated once, however many runs it is made of. Tabs and line breaks divide a paragraph into texts. The
formats, links, notes and other things inside a text are placed in its translation by `placing`, which works on text
with tags. Tags here are numbers between control characters, which XML cannot contain; what a number stands for is
written when the tags are in their places.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from hark.documents.formats import Segment, SegmentTranslation
from hark.documents.markup import MAX_DEPTH, MAX_TAGS
from hark.documents.placing import Element, Mark, place, placeholders
from hark.documents.xml_document import CONTROL, Node
from hark.text.rewrite import Span
from hark.translate.align import Link


@dataclass(frozen=True)
class TextFormat:
    """The look of a run of text, and the tags around it. Runs that look the same are merged whatever their tags."""

    look: tuple[str, ...] = ()
    opening: str = field(default="", compare=False)
    closing: str = field(default="", compare=False)

    def write(self, text: str) -> str:
        """The source of a run with this text; nothing if there is no text."""
        return self.wrap(escape(text, quote=False)) if text else ""

    def wrap(self, raw: str) -> str:
        return f"{self.opening}{raw}{self.closing}"


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


_ENDS = ".!?:;…。！？"


def pair_halves(items: Sequence[Item]) -> list[Item]:
    """Make ranges whose beginning and end are here elements around their content, unless they cross or hold a break."""
    output: list[Item] = []
    opened: dict[str, int] = {}
    """The place of each range that is open, the last one at the end."""
    for item in items:
        if isinstance(item, Half) and not item.opens and item.key in opened:
            crosses = next(reversed(opened)) != item.key
            start = opened.pop(item.key)
            beginning, content = output[start], output[start + 1 :] if not crosses else []
            fits = not crosses and not any(map(_has_break, content)) and _measure(content)[1] < MAX_DEPTH
            if fits and isinstance(beginning, Kept):
                output[start:] = [Wrap(beginning.raw, item.raw, content)]
                continue
            if not crosses:
                opened.clear()  # those around it hold the same break, or are even deeper
        output.append(item)
        if isinstance(item, Half) and item.opens:
            opened.pop(item.key, None)
            opened[item.key] = len(output) - 1
    return output


class ParagraphText:
    """The content of a paragraph, from `start` to `end` in the source."""

    def __init__(self, start: int, end: int, items: Sequence[Item]) -> None:
        self.start, self.end = start, end
        self._parts = list(_split(items))
        self.segments: Sequence[Segment] = tuple(
            part.segment for part in self._parts if isinstance(part, ParagraphPiece)
        )

    def fill(self, translations: Sequence[SegmentTranslation]) -> str | None:
        """The source of the content with its segments translated; None if nothing changes."""
        if all(new.text == old.text for new, old in zip(translations, self.segments, strict=True)):
            return None
        rest = iter(translations)
        return "".join(part if isinstance(part, str) else part.fill(next(rest)) for part in self._parts)


def plain_text(node: Node) -> ParagraphText:
    """The text of an element that has no runs."""
    return ParagraphText(node.inner_start, node.inner_end, [TextRun(node.text, TextFormat())])


def _has_break(item: Item) -> bool:
    if isinstance(item, Wrap):
        return any(map(_has_break, item.children))
    return isinstance(item, Kept) and (item.splits or item.line_break)


def _split(items: Sequence[Item]) -> Iterator[str | ParagraphPiece]:
    """Split content at tabs and line breaks into texts, and source that stays as it is."""
    piece: list[Item] = []
    continuing = _find_continuing(items)
    for number, item in enumerate(items):
        if number in continuing:
            piece.append(item)
        elif _has_break(item) or (isinstance(item, TextRun) and _is_blank(items, number)):
            yield from _pieces(piece)
            piece = []
            if isinstance(item, Wrap):
                yield item.opening
                yield from _split(item.children)
                yield item.closing
            else:
                yield emit([item])
        else:
            piece.append(item)
    yield from _pieces(piece)


def _find_continuing(items: Sequence[Item]) -> set[int]:
    """The places of line breaks after which a sentence goes on."""
    found: set[int] = set()
    waiting: list[int] = []
    last = ""
    for number, item in enumerate(items):
        if isinstance(item, Kept) and item.line_break:
            waiting += [number] if last and last not in _ENDS else []
        elif text := visible([item]).strip():
            found.update(waiting if text[0].islower() else ())
            waiting, last = [], text[-1]
    return found


def _is_blank(items: Sequence[Item], number: int) -> bool:
    """Whether a run is a gap with its own format, such as an underlined one to fill in."""
    run = items[number]
    assert isinstance(run, TextRun)
    if len(run.text) < 2 or not run.text.isspace():
        return False
    around = [items[place] for place in (number - 1, number + 1) if 0 <= place < len(items)]
    return not any(isinstance(each, TextRun) and each.format == run.format for each in around)


def _pieces(items: list[Item]) -> Iterator[str | ParagraphPiece]:
    if not any(map(str.isalpha, visible(items))):
        yield emit(items)
        return
    tags, depth = _measure(items)
    if tags <= MAX_TAGS and depth <= MAX_DEPTH:
        yield ParagraphPiece(items)
        return
    for item in items:  # too much for one text: runs are translated one by one
        match item:
            case Wrap():
                yield item.opening
                yield from _pieces(item.children)
                yield item.closing
            case TextRun() if any(map(str.isalpha, item.text)):
                yield ParagraphPiece([item])
            case _:
                yield emit([item])


def _measure(items: Sequence[Item]) -> tuple[int, int]:
    tags = depth = 0
    for item in items:
        inner = _measure(item.children) if isinstance(item, Wrap) else (0, 0)
        tags, depth = tags + 1 + inner[0], max(depth, 1 + inner[1])
    return tags, depth
