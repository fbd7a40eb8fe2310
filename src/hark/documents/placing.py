"""Places the inline tags of a text, which `InlineTree` holds, in its translation by word alignment.

Whatever the alignment says, every tag is written exactly once, and elements stay nested as they were: an element gets
one span of the translation, inside the span of its parent and beside those of its siblings.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from hark.text.rewrite import Rewriting, Span
from hark.translate.align import Link

AS_SURE = 0.85
"""A word of the source belongs to those words of the translation whose links are at least this sure, relative to the
surest. The last word of a sentence attracts weak links of other words, because the full stop is part of it."""
_WORD = re.compile(r"\S+")
_PLACEHOLDER = re.compile(r"\{\{[a-z]+\d+\}\}")


@dataclass(eq=False)
class Mark:
    """Something without words of its own: a single tag, a comment, an element that is not translated."""

    raw: str
    at: int
    """Its offset in the text."""
    placeholder: str = ""
    """What stands for it in the text, so that the translation has it in its place."""
    ordered: bool = False
    """Whether it is one half of an element that continues outside the text: such halves keep their order."""


@dataclass(eq=False)
class Element:
    """An inline element: its tags, its span in the text, and what is inside."""

    opening: str
    closing: str
    start: int
    end: int
    children: "list[Element | Mark]" = field(default_factory=list)
    pins: list[int] = field(default_factory=list)
    """The offsets in the translation of the placeholders inside."""

    @property
    def span(self) -> Span:
        return self.start, self.end


Placed = tuple[int, int, int, Element | Mark]
"""The span of a child in the translation, its number, and the child."""


def place(root: Element, source: str, text: str, links: Sequence[Link], write: Callable[[str], str]) -> str:
    """Return a translation with its tags; `write` escapes text. `root` spans the whole source."""
    plain, pinned = _take_out(root, text)
    length = len(plain.after)
    targets = (plain.forth(each.target) for each in links)
    clipped = ((min(start, length), min(end, length)) for start, end in targets)
    moved = [Link(each.source, target, each.weight) for each, target in zip(links, clipped, strict=True)]
    layout = _TagLayout(source, plain.after, moved, pinned)
    output: list[str] = []
    work: list[str | tuple[Element, Span]] = [(root, (0, length))]
    while work:  # not recursive: markup may be nested deeper than Python's stack
        item = work.pop()
        if isinstance(item, str):
            output.append(item)
            continue
        element, (begin, stop) = item
        parts: list[str | tuple[Element, Span]] = []
        end = begin
        for start, after, _, child in layout.arrange(element, (begin, stop)):
            parts.append(write(plain.after[end:start]))
            if isinstance(child, Mark):
                parts.append(child.raw + layout.space_after(child, start))
            else:
                parts += [child.opening, (child, (start, after)), child.closing]
            end = after
        parts.append(write(plain.after[end:stop]))
        work += reversed(parts)
    return "".join(output)


def placeholders(text: str) -> Iterator[str]:
    """Yield placeholders {{x1}}, {{x2}} and so on, with a letter that makes them different from all in the text."""
    letters = (*"xyzabcdefghijklmnopqrstuvw", "x" * (len(text) + 1))
    letter = next(letter for letter in letters if f"{{{{{letter}" not in text)
    return (f"{{{{{letter}{number}}}}}" for number in count(1))


def _take_out(root: Element, text: str) -> tuple[Rewriting, dict[Mark, int]]:
    """Remove the placeholders from a translation; return their offsets, also as `pins` of the elements around."""
    marks: dict[str, tuple[Mark, list[Element]]] = {}
    work: list[tuple[Element, list[Element]]] = [(root, [])]
    while work:
        element, above = work.pop()
        around = [*above, element]
        for child in element.children:
            if isinstance(child, Element):
                work.append((child, around))
            elif child.placeholder:
                marks[child.placeholder] = child, around
    if not marks:
        return Rewriting(text, text), {}
    matches = [found for found in _PLACEHOLDER.finditer(text) if found[0] in marks]
    plain = Rewriting.of(text, [(match.span(), "") for match in matches])
    pinned: dict[Mark, int] = {}
    for match, (_, (start, _)) in zip(matches, plain.edits, strict=True):
        mark, around = marks[match[0]]
        if mark not in pinned:
            pinned[mark] = start
            for element in around:
                element.pins.append(start)
    return plain, pinned


class _TagLayout:
    """Decides where the children of an element go."""

    def __init__(self, source: str, text: str, links: Sequence[Link], pinned: dict[Mark, int]) -> None:
        surest: dict[Span, float] = {}
        for each in links:
            surest[each.source] = max(each.weight, surest.get(each.source, 0.0))
        self._links = sorted(
            (each.source, each.target) for each in links if each.weight >= AS_SURE * surest[each.source]
        )
        self._starts = [span[0] for span, _ in self._links]
        self._ends = [span[1] for span, _ in self._links]
        self._source, self._text, self._pinned = source, text, pinned

    def arrange(self, parent: Element, span: Span) -> list[Placed]:
        """Return the spans of the children of an element in its span of the translation, in order, side by side."""
        wanted: list[tuple[list[Span], int, Element]] = []
        points: list[tuple[int, int, Element | Mark]] = []
        for number, child in enumerate(parent.children):
            if isinstance(child, Mark):
                points.append((self._point(child, child.at, parent, span), number, child))
            elif targets := self._targets(child, parent, span):
                wanted.append((targets, number, child))
            else:
                at = child.pins[0] if child.pins else self._point(None, child.start, parent, span)
                points.append((at, number, child))
        placed = list(self._side_by_side(wanted, span))
        starts = [start for start, *_ in placed]
        latest = span[0]
        for at, number, child in points:
            at = min(max(at, span[0]), span[1])
            if isinstance(child, Mark) and child.ordered:
                at = latest = max(at, latest)
            begins = child.at if isinstance(child, Mark) else child.start
            if before := bisect_left(starts, at):
                start, end, _, other = placed[before - 1]
                assert isinstance(other, Element)
                if at < end:
                    at = start if begins <= other.start else end
            placed.append((at, at, number, child))
        return sorted(placed, key=lambda each: each[:3])

    def space_after(self, mark: Mark, at: int) -> str:
        """A space after an image or the like that has spaces on both sides, where the translation has only one."""
        spaced = 0 < mark.at < len(self._source) and self._source[mark.at - 1 : mark.at + 1].isspace()
        here = 0 < at < len(self._text) and self._text[at - 1].isspace() and not self._text[at].isspace()
        return " " if spaced and here and not mark.placeholder else ""

    def _targets(self, child: Element, parent: Element, span: Span) -> list[Span]:
        """The words of the translation that an element wants around itself; none if it has no words."""
        words = self._source[child.start : child.end]
        begin, stop = span
        if not words.strip():
            return []
        outside = self._source[parent.start : child.start] + self._source[child.end : parent.end]
        if not outside.strip():  # all of it, punctuation included
            inner = self._text[begin:stop]
            start = begin + len(inner) - len(inner.lstrip())
            return [(start, max(start, begin + len(inner.rstrip())))]
        targets = [
            (max(start, begin), min(end, stop))
            for start, end in self._linked(child.span)
            if start < stop and begin < end
        ]
        targets += [(pin, pin) for pin in child.pins if begin <= pin <= stop]
        if not targets:
            return self._guess(child, parent, span)
        return self._part_of_word(child, (min(targets)[0], max(end for _, end in targets))) or targets

    def _part_of_word(self, child: Element, span: Span) -> list[Span]:
        """The span of an element that is part of a word and comes out unchanged: month<sup>1</sup>."""
        words = self._source[child.start : child.end]
        before, after = self._source[: child.start][-1:], self._source[child.end :][:1]
        glued = (before.isalnum() and words[0].isalnum()) or (after.isalnum() and words[-1].isalnum())
        if not glued or self._text[slice(*span)].count(words) != 1:
            return []
        start = self._text.index(words, *span)
        return [(start, start + len(words))]

    def _linked(self, span: Span) -> Iterator[Span]:
        for place in range(bisect_right(self._ends, span[0]), bisect_left(self._starts, span[1])):
            yield self._links[place][1]

    def _guess(self, child: Element, parent: Element, span: Span) -> list[Span]:
        """The word at the same relative position, for an element whose words have no links."""
        words = [match.span() for match in _WORD.finditer(self._text, *span)]
        if not words:
            return []
        middle = ((child.start + child.end) / 2 - parent.start) / max(1, parent.end - parent.start)
        return [words[min(len(words) - 1, int(middle * len(words)))]]

    def _side_by_side(self, wanted: list[tuple[list[Span], int, Element]], span: Span) -> Iterator[Placed]:
        """Give each element one span; cut where two overlap, so that as few words as possible change sides."""
        wanted.sort(key=lambda each: (sum(map(sum, each[0])) / len(each[0]), each[1]))
        end = span[0]
        for place, (targets, number, child) in enumerate(wanted):
            start, stop = self._trim(child, (min(targets)[0], max(target[1] for target in targets)))
            if place + 1 < len(wanted):
                following = wanted[place + 1][0]
                if min(following)[0] < stop:
                    cuts = {target[1] for target in targets} | {target[0] for target in following}
                    stop = max(
                        sorted(cuts),
                        key=lambda cut: (
                            sum(target[1] <= cut for target in targets) + sum(target[0] >= cut for target in following)
                        ),
                    )
            start = max(start, end)
            end = max(start, stop)
            yield start, end, number, child

    def _trim(self, child: Element, span: Span) -> Span:
        """Leave punctuation at the edges out if the element has none there in the source."""
        words = self._source[child.start : child.end].strip()
        start, end = span
        if words[:1].isalnum():
            while start < end and not self._text[start].isalnum():
                start += 1
        if words[-1:].isalnum():
            while end > start and not self._text[end - 1].isalnum():
                end -= 1
        return (start, end) if start < end else span

    def _point(self, mark: Mark | None, at: int, parent: Element, span: Span) -> int:
        """Where something without words goes: next to the translation of the word that it stands next to."""
        if mark in self._pinned:
            return self._pinned[mark]
        source = self._source
        if not source[parent.start : at].strip():
            return span[0]
        if not source[at : parent.end].strip():
            return span[1]
        following = bisect_left(self._starts, at)
        if following and (not source[at - 1].isspace() or following == len(self._links)):
            word = self._links[following - 1][0]
            end = max((target[1] for target in self._linked(word)), default=span[1])
            while source[at - 1].isalnum() and end > span[0] and not self._text[end - 1].isalnum():
                end -= 1
            return end
        if following < len(self._links):
            word = self._links[following][0]
            return min((target[0] for target in self._linked(word)), default=span[1])
        share = (at - parent.start) / max(1, parent.end - parent.start)
        ends = [match.end() for match in _WORD.finditer(self._text, *span)]
        return ends[min(len(ends) - 1, int(share * len(ends)))] if ends else span[1]


class InlineTree:
    """The text of a segment as it is read, and the elements and marks in it."""

    def __init__(self, source: str) -> None:
        self.text, self.root = "", Element("", "", 0, 0)
        self._stack, self._holders = [self.root], placeholders(source)

    @property
    def tagged(self) -> bool:
        """Whether there is anything to place by word links."""
        return bool(self.root.children)

    @property
    def has_words(self) -> bool:
        """Whether there is anything to translate besides placeholders."""
        return any(map(str.isalpha, re.sub(r"\{\{\w+\}\}", "", self.text)))

    def add_text(self, text: str) -> None:
        self.text += text
        self.root.end = len(self.text)

    def add_placeholder(self, raw: str) -> None:
        """Add something that is not translated but has a place in the sentence."""
        holder = next(self._holders)
        self._stack[-1].children.append(Mark(raw, len(self.text), holder))
        self.add_text(holder)

    def add_mark(self, raw: str, ordered: bool = False) -> None:
        """Add something without a meaning for the sentence; ordered ones keep their order."""
        self._stack[-1].children.append(Mark(raw, len(self.text), ordered=ordered))

    def open(self, raw: str) -> None:
        self._stack[-1].children.append(element := Element(raw, "", len(self.text), len(self.text)))
        self._stack.append(element)

    def close(self, raw: str) -> None:
        element = self._stack.pop()
        element.closing, element.end = raw, len(self.text)


@dataclass(frozen=True)
class InlineText:
    """Text on one line, read: without markup, and with elements in their places. `written`: signs and their escapes."""

    tree: InlineTree
    written: dict[int, str]

    @property
    def text(self) -> str:
        return self.tree.text

    def fill(self, translation: str, links: Sequence[Link]) -> str:
        return place(self.tree.root, self.text, translation, links, self.escape)

    def escape(self, text: str) -> str:
        return text.translate(self.written)


@dataclass(frozen=True)
class InlineSegment:
    """A segment of a document, as it was, and read."""

    raw: str
    inline: InlineText

    @property
    def text(self) -> str:
        return self.inline.text

    @property
    def tagged(self) -> bool:
        return self.inline.tree.tagged
