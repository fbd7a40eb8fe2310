"""Lines of text from the pages of a PDF file, with their places and fonts, by pdfium."""

import ctypes
import re
from collections.abc import Iterator
from dataclasses import dataclass

from hark.documents.document import DocumentError
from hark.errors import require

MAX_PAGES, MAX_CHARACTERS = 10_000, 20_000_000
HYPHEN = "\x02"
"""What pdfium writes for a hyphen at the end of a line, without a line break."""
_ITALIC = 1 << 6
_BOLD_WEIGHT = 600
_SYMBOLS = str.maketrans("\uf0b7\uf0a7\uf0d8\xa0", "•▪➢ ")
"""Bullets in the fonts Symbol and Wingdings; fixed spaces, by which some programs justify lines."""
_WORD = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True)
class StyledText:
    """A part of a line in one style."""

    text: str
    bold: bool = False
    italic: bool = False


@dataclass(frozen=True)
class PdfLine:
    """A line of a page; lengths are in points, from the lower left corner of the page."""

    page: int
    parts: tuple[StyledText, ...]
    left: float
    right: float
    baseline: float
    size: float
    hyphen: bool = False
    """Whether it ends with a hyphen, which is not in the text."""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True)
class PdfText:
    """What was read from a file."""

    title: str
    pages: int
    lines: tuple[PdfLine, ...]


def read_lines(content: bytes) -> PdfText:
    """Read all lines of a PDF file."""
    require("pypdfium2", "documents", "reading PDF files")
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(content) as pdf:
            if len(pdf) > MAX_PAGES:
                raise DocumentError(f"this PDF file has {len(pdf):,} pages; the limit is {MAX_PAGES:,}")
            lines: list[PdfLine] = []
            read = 0
            for number in range(len(pdf)):
                page = pdf[number]
                text = page.get_textpage()
                read += text.count_chars()
                if read > MAX_CHARACTERS:
                    raise DocumentError(f"this PDF file has more than {MAX_CHARACTERS:,} characters")
                lines += _PageReader(number, text).lines()
                text.close()
                page.close()
            title = pdf.get_metadata_value("Title")
            return PdfText(title, len(pdf), tuple(lines))
    except pypdfium2.PdfiumError as error:
        locked = "password" in str(error).lower()
        raise DocumentError(
            "this PDF file is password-protected" if locked else f"not a valid PDF file, or a damaged one: {error}"
        ) from error


class _PageReader:
    """Reads one page. Calls for single characters are slow, so fonts are asked for once a word."""

    def __init__(self, number: int, text: "object") -> None:
        import pypdfium2.raw as pdfium

        self._pdfium, self._text, self._number = pdfium, text, number
        self._fonts: dict[tuple[bytes, int, int], tuple[bool, bool]] = {}

    def lines(self) -> Iterator[PdfLine]:
        count = self._pdfium.FPDFText_CountChars(self._text)
        codes = [self._pdfium.FPDFText_GetUnicode(self._text, index) for index in range(count)]
        known = "".join(chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd" for code in codes)
        characters = known.translate(_SYMBOLS)
        start = 0
        for end in re.finditer(rf"[\r\n{HYPHEN}\ufffe]+|\Z", characters):
            line = characters[start : end.start()]
            if line.strip():
                yield self._line(start, line, HYPHEN in end[0] or "\ufffe" in end[0])
            start = end.end()

    def _line(self, start: int, line: str, hyphen: bool) -> PdfLine:
        first = start + len(line) - len(line.lstrip())
        last = start + len(line.rstrip()) - 1
        left, right, baseline = ctypes.c_double(), ctypes.c_double(), ctypes.c_double()
        self._pdfium.FPDFText_GetCharOrigin(self._text, first, left, baseline)
        unused = [ctypes.c_double() for _ in range(3)]
        self._pdfium.FPDFText_GetCharBox(self._text, last, unused[0], right, unused[1], unused[2])
        words = list(_WORD.finditer(line))
        solid = [word for word in words if any(map(str.isalnum, word[0]))] or [words[0]]
        sizes = [self._size(start + word.start()) for word in solid if word[0].strip()] or [self._size(first)]
        parts: list[StyledText] = []
        style = self._style(start + solid[0].start())
        for word in words:  # bullets and dots have fonts of their own, which say nothing
            style = self._style(start + word.start()) if any(map(str.isalnum, word[0])) else style
            if parts and (parts[-1].bold, parts[-1].italic) == style:
                parts[-1] = StyledText(parts[-1].text + word[0], *style)
            else:
                parts.append(StyledText(word[0], *style))
        size = max(sizes, key=sizes.count)
        return PdfLine(self._number, tuple(parts), left.value, right.value, baseline.value, size, hyphen)

    def _size(self, index: int) -> float:
        """The height of the font on the page; where the file scales its fonts, the nominal size says nothing."""
        matrix = self._pdfium.FS_MATRIX()
        nominal: float = self._pdfium.FPDFText_GetFontSize(self._text, index)
        if self._pdfium.FPDFText_GetMatrix(self._text, index, matrix) and nominal:
            nominal *= (matrix.b**2 + matrix.d**2) ** 0.5 or 1.0 if nominal <= 1.5 else 1.0
        return round(2 * nominal) / 2

    def _style(self, index: int) -> tuple[bool, bool]:
        name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
        self._pdfium.FPDFText_GetFontInfo(self._text, index, name, 128, flags)
        weight = self._pdfium.FPDFText_GetFontWeight(self._text, index)
        key = name.value, flags.value, weight
        if key not in self._fonts:
            called = name.value.decode("utf-8", "replace").lower()
            bold = weight >= _BOLD_WEIGHT or "bold" in called or "black" in called
            self._fonts[key] = bold, bool(flags.value & _ITALIC) or "italic" in called or "oblique" in called
        return self._fonts[key]
