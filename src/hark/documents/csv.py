"""CSV and TSV: cells of the chosen columns; delimiters, quotes and line ends stay byte for byte."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from hark.documents.encoding import decode
from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.documents.messages import EncodedMessage, is_identifier, read_message
from hark.documents.splicing import SplicedDocument

DELIMITERS = ",;\t|"
SAMPLE_ROWS = 200
"""Rows from which the delimiter, the header and the columns of text are found out."""
MAX_NAME_CHARS = 40
"""Maximum characters of a column's name."""
_SEPARATOR = re.compile(r"sep=(.)(?:\r\n|\r|\n)", re.IGNORECASE)
"""The first line by which Excel learns the delimiter."""


@dataclass(frozen=True)
class Cell:
    """A field of a row as written, with its quotes, and what comes after it: a delimiter or a line end."""

    raw: str
    after: str

    @property
    def quoted(self) -> bool:
        return self.raw.startswith('"') and self.raw.endswith('"') and len(self.raw) > 1

    @property
    def value(self) -> str:
        return self.raw[1:-1].replace('""', '"') if self.quoted else self.raw


def read_csv(content: bytes, options: ReadingOptions) -> Document:
    """Read CSV with any of the usual delimiters."""
    return _read(content, options, DELIMITERS)


def read_tsv(content: bytes, options: ReadingOptions) -> Document:
    return _read(content, options, "\t")


def _read(content: bytes, options: ReadingOptions, delimiters: str) -> Document:
    file = decode(content)
    separator = _SEPARATOR.match(file.text)
    start = separator.end() if separator else 0
    delimiter = separator[1] if separator else _find_delimiter(file.text, delimiters)
    rows = list(read_rows(file.text[start:], delimiter))
    chosen, header = _choose(rows, options.columns)
    quotes = delimiter != "\t" or any(cell.quoted for row in rows for cell in row)
    messages: list[tuple[int, EncodedMessage]] = []
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            if column in chosen and not (header and number == 0):
                encode = partial(_encode, cell.quoted, delimiter, quotes)
                messages.append((start, EncodedMessage(cell.raw, read_message(cell.value), encode)))
            start += len(cell.raw) + len(cell.after)
    return SplicedDocument.of_messages(file, messages)


def _encode(quoted: bool, delimiter: str, quotes: bool, value: str) -> str:
    """Write a cell, with quotes if it had some or must have some; files without quotes get spaces for tabs instead."""
    special = re.compile(f"[{re.escape(delimiter)}\r\n]")
    if not quotes:
        return special.sub(" ", value)
    if quoted or special.search(value) or '"' in value:
        return '"' + value.replace('"', '""') + '"'
    return value


def read_rows(text: str, delimiter: str) -> Iterator[list[Cell]]:
    """Yield the rows of a file; their cells with what comes after them concatenate to the text."""
    mark = re.escape(delimiter)
    cell = re.compile(rf'("(?:[^"]|"")*+"(?={mark}|[\r\n]|\Z)|[^{mark}\r\n]*)({mark}|\r\n|\r|\n|\Z)')
    row: list[Cell] = []
    at = 0
    while at < len(text):
        found = cell.match(text, at)
        assert found is not None  # the second alternative takes anything
        row.append(Cell(found[1], found[2]))
        at = found.end()
        if found[2] != delimiter:
            yield row
            row = []
    if row:
        yield row


def _find_delimiter(text: str, delimiters: str) -> str:
    """The delimiter that splits most rows into the same number of cells."""

    def fitness(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in islice(read_rows(text[: SAMPLE_ROWS * 500], delimiter), SAMPLE_ROWS)]
        widest = max(set(counts), key=counts.count, default=1)
        return (counts.count(widest) / len(counts) if widest > 1 else 0.0), widest

    return max(delimiters, key=fitness)


def _choose(rows: Sequence[Sequence[Cell]], columns: Sequence[str]) -> tuple[Collection[int], bool]:
    """The columns to translate, and whether the first row is a header."""
    width = max(map(len, rows), default=0)
    names = [cell.value.strip() for cell in rows[0]] if rows else []
    bodies = [[row[column].value for row in rows[1 : SAMPLE_ROWS + 1] if column < len(row)] for column in range(width)]
    filled = [[cell for cell in body if cell.strip()] for body in bodies]
    language = [bool(body) and 2 * sum(not is_identifier(cell) for cell in body) >= len(body) for body in filled]
    named = all(0 < len(name) <= MAX_NAME_CHARS and name[-1] not in ".!?" for name in names)
    named = named and len(set(names)) == len(names)
    named = named and not any(name.replace(".", "").replace(",", "").isdigit() for name in names) and len(rows) > 1
    header = named and (not all(language) or all(" " not in name for name in names))
    if columns:
        by_name = any(column in names and not column.isdecimal() for column in columns)
        return frozenset(_find_column(each, names, width) for each in columns), header or by_name
    if not header and not any(filled):
        return range(width), False
    words = [sum(len(cell.split()) for cell in body) / max(1, len(body)) for body in filled]
    several = {column for column in range(width) if language[column] and words[column] >= 1.5}
    return several or {column for column in range(width) if language[column]}, header


def _find_column(column: str, names: Sequence[str], width: int) -> int:
    if column.isdecimal() and 1 <= int(column) <= width:
        return int(column) - 1
    if column in names:
        return names.index(column)
    raise DocumentError(f"there is no column {column!r}; the columns are {', '.join(names) or 'none'}")
