"""A file that was read: the texts to translate, what became of them, and how to write the file with translations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self

from hark.errors import UserError
from hark.translate.align import Link
from hark.translate.translation import Reason, Translation


class DocumentError(UserError):
    """A file that cannot be read: damaged, of another format, too large, or unsafe. The message is one line."""


class WrongKindError(DocumentError):
    """A file of another kind that has the suffix of this format."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A text to translate: a paragraph, a cell, a heading, a message."""

    text: str
    """Plain text without markup. Elements that must not be translated are placeholders such as {{x1}}."""
    tagged: bool = False
    """Whether inline tags are to be placed in the translation by word links."""
    message: bool = False
    """Whether it is the message of a program: a translation that loses a placeholder is not written, or as fuzzy."""


@dataclass(frozen=True, slots=True)
class SegmentTranslation:
    """The translation of a segment; links are needed only if the segment is tagged."""

    text: str
    links: Sequence[Link] = ()


@dataclass(frozen=True)
class ReadingOptions:
    """What to translate in a file, where its format leaves a choice."""

    attributes: bool = False
    """HTML: also translate `alt`, `title` and `placeholder`."""
    elements: tuple[str, ...] = ()
    """XML: translate only these elements; empty: all text."""
    ignore: tuple[str, ...] = ()
    """HTML and XML: never translate these elements."""
    paths: tuple[str, ...] = ()
    """JSON: translate the strings at these paths, such as items[*].title; empty: all strings but identifiers."""
    columns: tuple[str, ...] = ()
    """CSV and TSV: translate these columns, by name or number from 1; empty: columns of text."""
    source: str = ""
    """The source language: TMX files have several; empty: the language that the file says it is written in."""
    target: str = ""
    """The target language, which PO, XLIFF and TMX files state, and which decides about plural forms."""
    output: str = ""
    """PDF, which cannot be written: write html or docx; empty: html."""


class Document(Protocol):
    """A file that was read: its segments in reading order, and what stays as it is."""

    @property
    def segments(self) -> Sequence[Segment]: ...

    def write(self, translations: Sequence[SegmentTranslation]) -> bytes:
        """Return the file with each segment replaced by its translation.

        With every text unchanged this returns the same bytes, or, where a library rewrites the container (ZIP), the
        same members with equal content.
        """
        ...


Origin = Literal["model", "memory"]
SegmentKey = tuple[str, bool]
"""The text of a segment, and whether it is tagged. Segments with the same key are translated once."""


@dataclass(frozen=True)
class SegmentOutcome:
    text: str
    links: tuple[Link, ...] = ()
    origin: Origin = "model"
    reasons: tuple[Reason, ...] = ()
    """Warnings, worst first."""

    @classmethod
    def of_model(cls, translation: Translation) -> Self:
        return cls(translation.text, translation.links, reasons=translation.reasons)

    @property
    def placed(self) -> SegmentTranslation:
        """What the writer of the document needs."""
        return SegmentTranslation(self.text, self.links)

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON; the reverse of `from_json`."""
        return {
            "text": self.text,
            "links": [[*each.source, *each.target, each.weight] for each in self.links],
            "origin": self.origin,
            "reasons": [[each.flag, each.detail] for each in self.reasons],
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        return cls(
            row["text"],
            tuple(Link((a, b), (c, d), weight) for a, b, c, d, weight in row["links"]),
            row["origin"],
            tuple(Reason(flag, detail) for flag, detail in row["reasons"]),
        )
