"""The file formats that can be translated, by the suffix of a file's name."""

from collections.abc import Callable
from pathlib import PurePath

from hark.documents.document import Document, DocumentError, ReadingOptions

FORMATS = {
    ".txt": "plain text",
    ".text": "plain text",
    ".html": "HTML",
    ".htm": "HTML",
    ".xhtml": "XHTML",
    ".xht": "XHTML",
    ".md": "Markdown",
    ".markdown": "Markdown",
    ".srt": "SubRip subtitles",
    ".vtt": "WebVTT subtitles",
    ".ass": "ASS subtitles",
    ".ssa": "SSA subtitles",
    ".docx": "Word",
    ".docm": "Word",
    ".dotx": "Word",
    ".dotm": "Word",
    ".pptx": "PowerPoint",
    ".pptm": "PowerPoint",
    ".potx": "PowerPoint",
    ".ppsx": "PowerPoint",
    ".xlsx": "Excel",
    ".xlsm": "Excel",
    ".xltx": "Excel",
    ".odt": "OpenDocument text",
    ".ott": "OpenDocument text",
    ".ods": "OpenDocument spreadsheet",
    ".ots": "OpenDocument spreadsheet",
    ".odp": "OpenDocument presentation",
    ".otp": "OpenDocument presentation",
    ".epub": "EPUB",
    ".pdf": "PDF",
    ".po": "gettext messages",
    ".pot": "gettext template",
    ".csv": "CSV",
    ".tsv": "TSV",
    ".json": "JSON",
    ".jsonl": "JSON lines",
    ".arb": "Flutter messages",
    ".xlf": "XLIFF",
    ".xliff": "XLIFF",
    ".tmx": "TMX",
    ".xml": "XML",
    ".properties": "Java properties",
    ".strings": "Apple strings",
    ".stringsdict": "Apple plurals",
    ".yaml": "YAML",
    ".yml": "YAML",
    ".toml": "TOML",
    ".rst": "reStructuredText",
    ".ts": "Qt messages",
    ".svg": "SVG",
    ".fodt": "flat OpenDocument text",
    ".fods": "flat OpenDocument spreadsheet",
    ".fodp": "flat OpenDocument presentation",
}
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
    match find_suffix(name):
        case ".txt" | ".text":
            from hark.documents import txt

            return txt.read
        case ".html" | ".htm" | ".xhtml" | ".xht":
            from hark.documents import markup_document as html

            return html.read
        case ".md" | ".markdown":
            from hark.documents import markdown

            return markdown.read
        case ".srt" | ".vtt":
            from hark.documents import srt

            return srt.read
        case ".ass" | ".ssa":
            from hark.documents import ass

            return ass.read
        case ".docx" | ".docm" | ".dotx" | ".dotm":
            from hark.documents import docx

            return docx.read
        case ".pptx" | ".pptm" | ".potx" | ".ppsx":
            from hark.documents import pptx

            return pptx.read
        case ".xlsx" | ".xlsm" | ".xltx":
            from hark.documents import xlsx

            return xlsx.read
        case ".odt" | ".ott" | ".ods" | ".ots" | ".odp" | ".otp":
            from hark.documents import odf

            return odf.read
        case ".epub":
            from hark.documents import epub

            return epub.read
        case ".pdf":
            from hark.documents import pdf

            return pdf.read
        case ".po" | ".pot":
            from hark.documents import po

            return po.read
        case ".csv":
            from hark.documents import csv

            return csv.read_csv
        case ".tsv":
            from hark.documents import csv

            return csv.read_tsv
        case ".json" | ".jsonl" | ".arb":
            from hark.documents import json

            return json.read
        case ".xlf" | ".xliff":
            from hark.documents import xliff

            return xliff.read
        case ".tmx":
            from hark.documents import tmx

            return tmx.read
        case ".xml":
            from hark.documents import xml

            return xml.read
        case ".properties":
            from hark.documents import properties

            return properties.read
        case ".strings":
            from hark.documents import strings

            return strings.read
        case ".stringsdict":
            from hark.documents import stringsdict

            return stringsdict.read
        case ".yaml" | ".yml":
            from hark.documents import yaml

            return yaml.read
        case ".toml":
            from hark.documents import toml

            return toml.read
        case ".rst":
            from hark.documents import rst

            return rst.read
        case ".ts":
            from hark.documents import qt

            return qt.read
        case ".svg":
            from hark.documents import xml

            return xml.read_svg
        case ".fodt" | ".fods" | ".fodp":
            from hark.documents import odf

            return odf.read_flat
    known = ", ".join(FORMATS)
    way_out = find_way_out(name) or f"supported are {known}"
    raise DocumentError(f"{name}: files of this type cannot be translated; {way_out}")


def find_way_out(name: str) -> str:
    """What to do with a file of a format that other programs can convert; empty if nothing is known."""
    wanted = SAVE_AS.get(PurePath(name).suffix.lower())
    return f"save it as {wanted} first" if wanted else ""
