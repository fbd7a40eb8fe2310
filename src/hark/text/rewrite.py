"""Text with replaced spans, and the mapping of positions between the old and the new text."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

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
        return _carry(span, [(after, before) for before, after in self.edits])

    def forth(self, span: Span) -> Span:
        """Map a span of the old text to the new text."""
        return _carry(span, self.edits)


def _carry(span: Span, edits: Iterable[tuple[Span, Span]]) -> Span:
    start, stop = span
    shift, begin, end = 0, None, None
    for (here, here_end), (there, there_end) in edits:
        if begin is None and start < here:
            begin = start + shift
        if begin is None and start < here_end:
            begin = there
        if end is None and stop <= here:
            end = stop + shift
        if end is None and stop <= here_end:
            end = there_end
        shift = there_end - here_end
    return (start + shift if begin is None else begin), (stop + shift if end is None else end)
