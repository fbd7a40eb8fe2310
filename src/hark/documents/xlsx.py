"""XLSX: text in cells, comments, shapes and charts. Numbers, dates, formulas and names are not touched.

The XML is edited in place (see `xml_document`) instead of by openpyxl, which loses charts, shapes and more when it
writes a workbook again.

The header of a table must be the name of its column, or Excel calls the workbook damaged: both get the same
translation. They are kept where formulas, pivot tables or queries refer to the column by its name. Formulas that
compare cells with text are not changed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from hark.documents.archives import Archive, ArchiveDocument
from hark.documents.formats import Document, ReadingOptions, SegmentTranslation
from hark.documents.ooxml import (
    PREFIXES,
    DrawingScheme,
    PlainScheme,
    RunNames,
    open_package,
    parts_of,
    read_parts,
    run_format,
    split_paragraph,
    split_text,
)
from hark.documents.paragraph_piece import Item, Kept, ParagraphText, TextFormat
from hark.documents.xml_document import CONTROL, EditableText, Node, Source, XmlScheme, find_nodes

_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_SHEET, _TABLE = f"{_TYPE}.worksheet+xml", f"{_TYPE}.table+xml"
_PIVOT = f"{_TYPE}.pivotCacheDefinition+xml"
_THREADS = "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"
_RUN = RunNames("x:rPr", "t")


def read(content: bytes, options: ReadingOptions) -> Document:
    archive = open_package(content, "XLSX", "(spreadsheetml|ms-excel)")
    tables = list(_read_tables(archive))
    kept = frozenset(_names_in_use(archive, tables))
    strings = StringScheme(kept)
    types = parts_of(archive)
    schemes: dict[str, XmlScheme] = {f"{_TYPE}.sharedStrings+xml": strings}
    if any(b"inlineStr" in archive.read(name) for name in types if types[name] == _SHEET):
        schemes[_SHEET] = strings
    schemes[f"{_TYPE}.comments+xml"] = StringScheme(frozenset())
    schemes["application/vnd.ms-excel.threadedcomments+xml"] = PlainScheme(
        "t:text", read=split_paragraph, prefixes={_THREADS: "t"}
    )
    return WorkbookDocument(archive, read_parts(archive, schemes, DrawingScheme(options)), tables, kept)


class StringScheme(XmlScheme):
    """Strings of cells, shared or not, and of comments."""

    prefixes = PREFIXES
    blocks = frozenset(("x:si", "x:is", "x:text"))

    def __init__(self, kept: frozenset[str]) -> None:
        """`kept`: texts that are not translated."""
        self._kept = kept

    def texts(self, block: Node, source: Source) -> Iterator[EditableText]:
        if string_of(block) in self._kept:
            return
        plain = block.find("x:t")
        runs = [each for each in block.elements if each.name == "x:r"]
        if plain is not None and not runs and len(list(block.elements)) == 1:
            yield split_paragraph(plain)
            return
        # Readings of Japanese text (rPh) have no place in a translation.
        items: list[Item] = []
        for part in block.elements:
            if part.name == "x:t":
                head = source.text(part.start, part.inner_start).removesuffix("/>").removesuffix(">")
                tail = f"</{head.split(None, 1)[0][1:]}>"
                items += split_text(part.text, TextFormat((), f"{head}>", tail))
            elif part.name == "x:r" and (text := part.find("x:t")) is not None:
                items += split_text(text.text, run_format(part, _RUN, source, ' xml:space="preserve"'))
            elif part.name not in ("x:rPh", "x:phoneticPr"):
                items.append(Kept(source.text(part.start, part.end)))
        yield ParagraphText(block.inner_start, block.inner_end, items)


def string_of(block: Node) -> str:
    """The text of a string, without the readings of Japanese characters."""
    runs = [block, *(each for each in block.elements if each.name == "x:r")]
    return "".join(each.text for run in runs for each in run.elements if each.name == "x:t")


@dataclass(frozen=True)
class SheetTable:
    """A table of a sheet: where its part is, and the names of its columns."""

    part: str
    name: str
    columns: tuple[str, ...]
    query: bool


def _read_tables(archive: Archive) -> Iterator[SheetTable]:
    for part in (name for name, kind in parts_of(archive).items() if kind == _TABLE):
        for table in find_nodes(archive.read(part), PREFIXES, frozenset(("x:table",)), part):
            columns = tuple(each.attributes.get("name", "") for each in table.walk() if each.name == "x:tableColumn")
            query = table.attributes.get("tableType") == "queryTable"
            yield SheetTable(part, table.attributes.get("displayName", ""), columns, query)


def _names_in_use(archive: Archive, tables: Sequence[SheetTable]) -> Iterator[str]:
    """The names of columns that something in the workbook refers to, or that are more than one line."""
    types = parts_of(archive)
    for part in (name for name, kind in types.items() if kind == _PIVOT):
        for found in find_nodes(archive.read(part), PREFIXES, frozenset(("x:cacheField",)), part):
            yield found.attributes.get("name", "")
    if not tables:
        return
    formulas = [name for name, kind in types.items() if re.search("worksheet|table|chart|main|conn", kind)]
    contents = [archive.read(name) for name in formulas]
    for table in tables:
        used = table.query or any(f"{table.name}[".encode() in content for content in contents)
        yield from (
            name for name in table.columns if used or name != name.strip() or re.search(r"[\t\n\r\v]|_x000", name)
        )


class WorkbookDocument(ArchiveDocument):
    """A workbook; the names of columns of tables follow their headers."""

    def __init__(
        self, archive: Archive, parts: Mapping[str, Document], tables: Sequence[SheetTable], kept: frozenset[str]
    ) -> None:
        super().__init__(archive, parts)
        self._tables, self._kept = tables, kept

    def _written(self, translations: Sequence[SegmentTranslation]) -> Iterator[tuple[str, bytes]]:
        """The members with the translations in strings and in the names of columns."""
        names = {name for table in self._tables for name in table.columns} - self._kept
        new = {
            old.text: CONTROL.sub(" ", made.text).strip()
            for old, made in zip(self.segments, translations, strict=True)
            if old.text in names
        }
        for table in self._tables:
            renamed = Counter(new.get(name, name).casefold() for name in table.columns)
            if any(count > 1 or not name for name, count in renamed.items()):  # columns need different names
                new.update({name: name for name in table.columns})
        same = [
            SegmentTranslation(new[old.text], made.links) if old.text in new else made
            for old, made in zip(self.segments, translations, strict=True)
        ]
        yield from super()._written(same)
        for table in self._tables:
            content = self._archive.read(table.part)
            yield table.part, _rename(content, {name: new.get(name, name) for name in table.columns})


def _rename(content: bytes, names: Mapping[str, str]) -> bytes:
    nodes = [
        each
        for table in find_nodes(content, PREFIXES, frozenset(("x:table",)), "table")
        for each in table.walk()
        if each.name == "x:tableColumn"
    ]
    for node in reversed(nodes):
        old = node.attributes.get("name", "")
        found = re.compile(rb"\sname\s*=\s*(\"[^\"]*\"|'[^']*')").search(content, node.start, node.inner_start)
        if found and names.get(old, old) != old:
            content = content[: found.start(1)] + f'"{escape(names[old])}"'.encode() + content[found.end(1) :]
    return content
