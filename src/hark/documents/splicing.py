"""Text files as a sequence of pieces: those to translate, and those between, which are written as they were read."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

from hark.documents.encoding import DecodedText, Unencodable
from hark.documents.formats import Segment, SegmentTranslation
from hark.documents.messages import EncodedMessage
from hark.translate.align import Link


class Splice(Protocol):
    """A text to translate, and how to write its translation in the file."""

    @property
    def text(self) -> str: ...

    @property
    def tagged(self) -> bool: ...

    def fill(self, translation: str, links: Sequence[Link]) -> str:
        """Return what replaces the piece in the file; with the text itself, exactly what was there."""
        ...


@dataclass(frozen=True)
class SplicedDocument:
    """A text file with the pieces to translate in their places."""

    file: DecodedText
    parts: Sequence[str | Splice]
    unencodable: Unencodable = "utf-8"

    @classmethod
    def of_messages(
        cls, file: DecodedText, messages: Iterable[tuple[int, EncodedMessage]], unencodable: Unencodable = "utf-8"
    ) -> Self:
        """A file with messages at these places; those without words stay as they are."""
        parts: list[str | Splice] = []
        end = 0
        for start, message in messages:
            if message.message.translatable:
                parts += [file.text[end:start], message]
                end = start + len(message.raw)
        return cls(file, [*parts, file.text[end:]], unencodable)

    @property
    def segments(self) -> Sequence[Segment]:
        return tuple(
            Segment(part.text, part.tagged, isinstance(part, EncodedMessage))
            for part in self.parts
            if not isinstance(part, str)
        )

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        return self.file.encode(join_parts(self.parts, translations), self.unencodable)


@dataclass(frozen=True)
class LineWrap:
    """How the lines of a paragraph were wrapped by hand."""

    prefix: str = ""
    """What begins a further line; it includes the end of the line before. Empty: the text is one line."""
    width: int = 0
    indent: int = 0
    """Characters before the first line."""

    def lines(self, words: Sequence[str], not_first: re.Pattern[str]) -> list[str]:
        """Lay out words over lines; none begins with a word that would begin something else there."""
        lines: list[str] = []
        column = self.indent
        for word in words:
            fits = not self.prefix or column + 1 + len(word) <= self.width
            if lines and (fits or not_first.match(word)):
                lines[-1] += f" {word}"
                column += 1 + len(word)
            else:
                column = len(word) + (len(self.prefix.lstrip("\r\n")) if lines else self.indent)
                lines.append(word)
        return lines


ONE_LINE = LineWrap()


def join_parts(parts: Iterable[str | Splice], translations: Sequence[SegmentTranslation]) -> str:
    """Return the text with each piece replaced by its translation."""
    rest = iter(translations)
    joined = "".join(
        part if isinstance(part, str) else part.fill((done := next(rest)).text, done.links) for part in parts
    )
    if next(rest, None) is not None:
        raise ValueError("more translations than segments")
    return joined
