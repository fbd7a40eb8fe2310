"""Text files as a sequence of pieces: those to translate, and those between, which are written as they were read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hark.documents.document import Segment, SegmentTranslation
from hark.documents.encoding import DecodedText, Unencodable
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

    @property
    def segments(self) -> Sequence[Segment]:
        return tuple(
            Segment(part.text, part.tagged, isinstance(part, EncodedMessage))
            for part in self.parts
            if not isinstance(part, str)
        )

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        return self.file.encode(join_parts(self.parts, translations), self.unencodable)


def join_parts(parts: Iterable[str | Splice], translations: Sequence[SegmentTranslation]) -> str:
    """Return the text with each piece replaced by its translation."""
    rest = iter(translations)
    joined = "".join(
        part if isinstance(part, str) else part.fill((done := next(rest)).text, done.links) for part in parts
    )
    if next(rest, None) is not None:
        raise ValueError("more translations than segments")
    return joined
