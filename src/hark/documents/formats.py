"""The formats of documents: what a reader of one returns, what became of its texts, and which suffixes have one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
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


_READERS = {
    ".txt .text": ("plain text", "txt.read"),
    ".html .htm": ("HTML", "markup_document.read"),
    ".xhtml .xht": ("XHTML", "markup_document.read"),
    ".md .markdown": ("Markdown", "markdown.read"),
    ".srt": ("SubRip subtitles", "srt.read"),
    ".vtt": ("WebVTT subtitles", "srt.read"),
    ".ass": ("ASS subtitles", "ass.read"),
    ".ssa": ("SSA subtitles", "ass.read"),
    ".docx .docm .dotx .dotm": ("Word", "docx.read"),
    ".pptx .pptm .potx .ppsx": ("PowerPoint", "pptx.read"),
    ".xlsx .xlsm .xltx": ("Excel", "xlsx.read"),
    ".odt .ott": ("OpenDocument text", "odf.read"),
    ".ods .ots": ("OpenDocument spreadsheet", "odf.read"),
    ".odp .otp": ("OpenDocument presentation", "odf.read"),
    ".epub": ("EPUB", "epub.read"),
    ".pdf": ("PDF", "pdf.read"),
    ".po": ("gettext messages", "po.read"),
    ".pot": ("gettext template", "po.read"),
    ".csv": ("CSV", "csv.read_csv"),
    ".tsv": ("TSV", "csv.read_tsv"),
    ".json": ("JSON", "json.read"),
    ".jsonl": ("JSON lines", "json.read"),
    ".arb": ("Flutter messages", "json.read"),
    ".xlf .xliff": ("XLIFF", "xliff.read"),
    ".tmx": ("TMX", "tmx.read"),
    ".xml": ("XML", "xml.read"),
    ".properties": ("Java properties", "properties.read"),
    ".strings": ("Apple strings", "strings.read"),
    ".stringsdict": ("Apple plurals", "strings.read_plurals"),
    ".yaml .yml": ("YAML", "yaml.read"),
    ".toml": ("TOML", "toml.read"),
    ".rst": ("reStructuredText", "rst.read"),
    ".ts": ("Qt messages", "qt.read"),
    ".svg": ("SVG", "xml.read_svg"),
    ".fodt": ("flat OpenDocument text", "odf.read_flat"),
    ".fods": ("flat OpenDocument spreadsheet", "odf.read_flat"),
    ".fodp": ("flat OpenDocument presentation", "odf.read_flat"),
}
"""For the suffixes of each format its name, and the function of this package that reads it."""
_BY_SUFFIX = {suffix: found for suffixes, found in _READERS.items() for suffix in suffixes.split()}
FORMATS = {suffix: name for suffix, (name, _) in _BY_SUFFIX.items()}
"""The suffixes, with the name of each format."""
SAVE_AS = {
    **dict.fromkeys((".doc", ".dot", ".rtf", ".pages", ".wpd", ".wps"), ".docx"),
    **dict.fromkeys((".xls", ".xlsb", ".numbers"), ".xlsx"),
    **dict.fromkeys((".ppt", ".pps", ".key"), ".pptx"),
    **dict.fromkeys((".mobi", ".azw", ".azw3"), ".epub"),
}
"""Formats that cannot be read, and those that the programs that can read them also write."""

Reader = Callable[[bytes, ReadingOptions], Document]


def find_suffix(name: str) -> str:
    """The suffix of a file name in lower case; empty if files of this type cannot be translated."""
    suffix = PurePath(name).suffix.lower()
    return suffix if suffix in FORMATS else ""


def find_outputs(name: str) -> tuple[str, ...]:
    """The suffixes that a translation of this file can have, the default first: its own, except for PDF."""
    suffix = find_suffix(name)
    return (".html", ".docx") if suffix == ".pdf" else (suffix,)


def read_document(
    name: str, content: bytes, options: ReadingOptions | None = None, suffix: str | None = None
) -> Document:
    """Read a file of any supported format, chosen by its name or by another suffix."""
    reader = find_reader(name if suffix is None else f"{name}{suffix}")
    try:
        return reader(content, options or ReadingOptions())
    except DocumentError as error:
        raise type(error)(f"{name}: {error}") from None


def find_reader(name: str) -> Reader:
    """The function that reads files with this name; its module is imported only now."""
    if suffix := find_suffix(name):
        module, _, function = _BY_SUFFIX[suffix][1].partition(".")
        reader: Reader = getattr(import_module(f"hark.documents.{module}"), function)
        return reader
    way_out = find_way_out(name) or f"supported are {', '.join(FORMATS)}"
    raise DocumentError(f"{name}: files of this type cannot be translated; {way_out}")


def find_way_out(name: str) -> str:
    """What to do with a file of a format that other programs can convert; empty if nothing is known."""
    wanted = SAVE_AS.get(PurePath(name).suffix.lower())
    return f"save it as {wanted} first" if wanted else ""
