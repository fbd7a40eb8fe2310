"""Text with replaced spans, and the mapping of positions between the old and the new text."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

Span = tuple[int, int]


@dataclass(frozen=True)
class Rewriting:
    """A text before and after replacements, with the replaced spans in both, in order."""

    before: str
    after: str
    edits: tuple[tuple[Span, Span], ...] = ()

    @classmethod
    def of(cls, text: str, replacements: Iterable[tuple[Span, str]]) -> Self:
        """Replace non-overlapping spans, given in order."""
        parts: list[str] = []
        edits: list[tuple[Span, Span]] = []
        end = length = 0
        for (start, stop), new in replacements:
            parts += [text[end:start], new]
            begin = length + start - end
            length, end = begin + len(new), stop
            edits.append(((start, stop), (begin, length)))
        return cls(text, "".join([*parts, text[end:]]), tuple(edits))

    def back(self, span: Span) -> Span:
        """Map a span of the new text to the old text; part of a replacement maps to the whole replaced span."""
        return _carry(span, self.edits, 1)

    def forth(self, span: Span) -> Span:
        """Map a span of the old text to the new text."""
        return _carry(span, self.edits, 0)


def _carry(span: Span, edits: Sequence[tuple[Span, Span]], side: Literal[0, 1]) -> Span:
    """Map a span from one side of the edits to the other."""

    def end_of(edit: tuple[Span, Span]) -> int:
        return edit[side][1]

    def move(offset: int, number: int, edge: Literal[0, 1]) -> int:
        """Map an offset before or in the edit with this number; `edge` is where in its replacement it goes."""
        if number < len(edits) and (
            offset > edits[number][side][0] or (edge == 0 and offset == edits[number][side][0])
        ):
            return edits[number][1 - side][edge]
        return offset + (edits[number - 1][1 - side][1] - edits[number - 1][side][1] if number else 0)

    start, stop = span
    return (
        move(start, bisect_right(edits, start, key=end_of), 0),
        move(stop, bisect_left(edits, stop, key=end_of), 1),
    )
