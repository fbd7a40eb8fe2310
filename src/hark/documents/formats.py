"""The file formats that can be translated, by the suffix of a file's name."""

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath

from hark.documents.document import Document, DocumentError, ReadingOptions

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
    ".stringsdict": ("Apple plurals", "stringsdict.read"),
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
