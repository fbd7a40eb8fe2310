"""PDF: its text, with paragraphs and headings, as HTML or DOCX. The layout of the pages is not kept.

A PDF file places letters on pages. So its text is first written as a file of another format, which is then read like
any other: columns, tables, pictures and links are lost. Scanned pages have no text.

pdfium reads the lines of the pages with their places and fonts; these tell which lines are a paragraph.
"""

import ctypes
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from io import BytesIO
from itertools import groupby, pairwise
from statistics import median
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from hark.documents import docx
from hark.documents import markup_document as html
from hark.documents.formats import Document, DocumentError, ReadingOptions
from hark.documents.xml_document import CONTROL
from hark.errors import HarkWarning, require

LAYOUT = "the layout of PDF files is not kept: only text, paragraphs and headings"
MAX_PAGES, MAX_CHARS = 10_000, 20_000_000
HYPHEN = "\x02"
"""What pdfium writes for a hyphen at the end of a line, without a line break."""
_ITALIC = 1 << 6
_BOLD_WEIGHT = 600
_SYMBOLS = str.maketrans("\uf0b7\uf0a7\uf0d8\xa0", "•▪➢ ")
"""Bullets in the fonts Symbol and Wingdings; fixed spaces, by which some programs justify lines."""
_RUN = re.compile(r"\S+\s*|\s+")
_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_OFFICE = "http://schemas.openxmlformats.org"
_NAMESPACE = f'xmlns:w="{_OFFICE}/wordprocessingml/2006/main"'
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"


def read(content: bytes, options: ReadingOptions) -> Document:
    """Read a PDF file; it is written as `options.output` says: html, which is also the default, or docx."""
    if options.output not in ("", "html", "docx"):
        raise DocumentError(f"PDF files are written as html or docx, not as {options.output}")
    text = read_lines(content)
    paragraphs = find_paragraphs(text)
    if not any(any(map(str.isalpha, each.text)) for each in paragraphs):
        raise DocumentError(
            "this PDF file has no text: it may be scanned, and hark does not recognise pictures of text"
        )
    warnings.warn(LAYOUT, HarkWarning, stacklevel=2)
    heading = next((each.text for each in paragraphs if each.level), "")
    title = text.title.strip() or heading.strip()
    if options.output == "docx":
        return docx.read(write_docx(title, paragraphs), options)
    return html.read(write_html(title, paragraphs), options)


@dataclass(frozen=True)
class StyledText:
    """A part of a line in one style."""

    text: str
    bold: bool = False
    italic: bool = False


def _merge(parts: Iterable[StyledText]) -> Iterator[StyledText]:
    """Join neighbours in the same style."""
    for (bold, italic), found in groupby(parts, lambda part: (part.bold, part.italic)):
        yield StyledText("".join(part.text for part in found), bold, italic)


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
    lines: tuple[PdfLine, ...]


def read_lines(content: bytes) -> PdfText:
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
                if read > MAX_CHARS:
                    raise DocumentError(f"this PDF file has more than {MAX_CHARS:,} characters")
                lines += _PageReader(number, text).lines()
                text.close()
                page.close()
            title = pdf.get_metadata_value("Title")
            return PdfText(title, tuple(lines))
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
        words = list(_RUN.finditer(line))
        solid = [word for word in words if any(map(str.isalnum, word[0]))] or [words[0]]
        sizes = [self._size(start + word.start()) for word in solid if word[0].strip()] or [self._size(first)]
        parts: list[StyledText] = []
        style = self._style(start + solid[0].start())
        for word in words:  # bullets and dots have fonts of their own, which say nothing
            style = self._style(start + word.start()) if any(map(str.isalnum, word[0])) else style
            parts.append(StyledText(word[0], *style))
        size = max(sizes, key=sizes.count)
        return PdfLine(self._number, tuple(_merge(parts)), left.value, right.value, baseline.value, size, hyphen)

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


MIN_HEADING_SIZE = 1.12
"""A line in a font this many times the size of most text is a heading."""
MAX_LEVELS = 4
MAX_EDGE_LINES, MIN_EDGE_DISTANCE = 2, 1.6
"""Running titles are at most so many lines at the top or bottom of a page, so many font sizes apart from the text."""
MIN_REPEATED_SHARE, MIN_REPEATED_PAGES = 0.4, 3
"""A running title is on this share of the pages, at least on so many: left and right pages may differ."""
MIN_GAP = 1.35
"""A distance of so many usual ones begins a paragraph."""
MAX_SHORT_WIDTH = 0.8
"""A line of this share of the usual width, or less, ends a paragraph if it ends a sentence."""
_ENDS = re.compile(r"[.!?:;…。！？][\"'”’»)\]]*$")
_BULLET = re.compile(r"(?:[•◦▪‣●○■\uf0b7*–—-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+\S")
_LEADERS = re.compile(r"\s*(?:\.\s?){4,}(?=\s*\w+\s*$)")
"""Dots before the page number in tables of contents."""
_SPACES = re.compile(r"\s+")
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@dataclass(frozen=True)
class PdfParagraph:
    """A paragraph, or a heading of level 1 and up."""

    parts: tuple[StyledText, ...]
    level: int = 0

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)


def find_paragraphs(text: PdfText) -> list[PdfParagraph]:
    """Join lines into paragraphs; leave out running titles and page numbers."""
    lines = _without_running_titles(text)
    if not lines:
        return []
    body = Counter[float]()
    for line in lines:
        body[line.size] += len(line.text)
    smallest = MIN_HEADING_SIZE * body.most_common(1)[0][0]
    sizes = sorted({line.size for line in lines if line.size > smallest}, reverse=True)
    levels = {size: min(number, MAX_LEVELS) for number, size in enumerate(sizes, 1)}
    words = Counter(word.lower() for line in lines for word in _WORD.findall(line.text))
    layout = _ColumnLayout(lines)
    groups: list[list[PdfLine]] = []
    for line in lines:
        if groups and not layout.begins_paragraph(groups[-1], line):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [PdfParagraph(tuple(_join(group, words)), levels.get(group[0].size, 0)) for group in groups]


def _without_running_titles(text: PdfText) -> list[PdfLine]:
    """Leave out lines at the edges of pages that are the same on many pages but for numbers."""
    pages: dict[int, list[PdfLine]] = {}
    for line in text.lines:
        pages.setdefault(line.page, []).append(line)
    edges = {number: [*_edge(page, True), *_edge(page, False)] for number, page in pages.items()}

    def key(line: PdfLine) -> tuple[str, int]:
        text = _DIGITS.sub("#", line.text.strip())
        return text, 0 if text == "#" else round(line.baseline / 6)  # numbers move to the foot where chapters begin

    counts = Counter(found for edge in edges.values() for found in {key(line) for line in edge})
    limit = max(MIN_REPEATED_PAGES, MIN_REPEATED_SHARE * len(pages))
    running = {found for found, count in counts.items() if count >= (MIN_REPEATED_PAGES if found[0] == "#" else limit)}
    dropped = {id(line) for edge in edges.values() for line in edge if key(line) in running}
    return [line for line in text.lines if id(line) not in dropped]


def _edge(page: Sequence[PdfLine], top: bool) -> list[PdfLine]:
    """The lines at the top or the bottom of a page that are apart from the text."""
    ordered = sorted(page, key=lambda line: line.baseline, reverse=top)
    rows: list[list[PdfLine]] = []
    for line in ordered:
        if rows and abs(rows[-1][0].baseline - line.baseline) < 0.5 * line.size:
            rows[-1].append(line)
        elif len(rows) <= MAX_EDGE_LINES:
            rows.append([line])
    for count in range(len(rows) - 1, 0, -1):
        inner, outer = rows[count][0], rows[count - 1][0]
        if abs(inner.baseline - outer.baseline) > MIN_EDGE_DISTANCE * max(inner.size, outer.size):
            return [line for row in rows[:count] for line in row]
    return ordered if len(rows) == 1 else []


class _ColumnLayout:
    """Decides where paragraphs begin, by the usual distances and widths for each size of text."""

    def __init__(self, lines: Sequence[PdfLine]) -> None:
        distances: dict[float, list[float]] = {}
        widths: dict[float, list[float]] = {}
        for before, line in pairwise(lines):
            drop = before.baseline - line.baseline
            if before.page == line.page and before.size == line.size and 0 < drop < 3 * line.size:
                distances.setdefault(line.size, []).append(drop)
        for line in lines:
            widths.setdefault(line.size, []).append(line.right - line.left)
        self._pitch = {size: median(found) for size, found in distances.items()}
        self._width = {size: sorted(found)[int(0.8 * (len(found) - 1))] for size, found in widths.items()}

    def begins_paragraph(self, group: Sequence[PdfLine], line: PdfLine) -> bool:
        """Whether a line does not belong to the paragraph before it."""
        before = group[-1]
        if line.size != before.size or _BULLET.match(line.text.lstrip()) or _LEADERS.search(before.text):
            return True
        if before.hyphen:
            return False
        ended = bool(_ENDS.search(before.text.rstrip()))
        short = before.right - before.left < MAX_SHORT_WIDTH * self._width[line.size]
        drop = before.baseline - line.baseline
        if line.page != before.page or drop < 0:  # another page or column
            return (ended or not line.text.lstrip()[:1].islower()) and (ended or short)
        if drop < 0.3 * line.size:  # beside it, as in tables
            return True
        if drop > MIN_GAP * self._pitch.get(line.size, 1.2 * line.size):
            return True
        indent = line.left - min(each.left for each in group)
        listed = _BULLET.match(group[0].text.lstrip()) is not None
        if len(group) > 1 and indent > line.size and not listed:  # the first line of the next paragraph
            return True
        return short and (ended or _is_bold(before) != _is_bold(line))


def _is_bold(line: PdfLine) -> bool:
    return all(part.bold for part in line.parts)


def _join(group: Sequence[PdfLine], words: Counter[str]) -> Iterator[StyledText]:
    """Join lines, and words that were hyphenated at their ends."""
    parts: list[StyledText] = []
    for number, line in enumerate(group):
        found = [*line.parts]
        found[-1] = replace(found[-1], text=found[-1].text.rstrip())
        following = group[number + 1].text.lstrip() if number + 1 < len(group) else ""
        ending = " " if following else ""
        text = found[-1].text
        if line.hyphen or (text[-1:] in "-\N{HYPHEN}\N{SOFT HYPHEN}" and text[-2:-1].isalpha()):
            bare = text if line.hyphen else text[:-1]
            found[-1] = replace(found[-1], text=bare)
            ending = _hyphen(bare, following, words)
        found[-1] = replace(found[-1], text=found[-1].text + ending)
        parts += found
    return (replace(part, text=_SPACES.sub(" ", _LEADERS.sub(" … ", part.text))) for part in _merge(parts) if part.text)


def _hyphen(before: str, following: str, words: Counter[str]) -> str:
    """What stands between the halves of a word: a hyphen if the word is written with one elsewhere in the file."""
    first, second = re.search(r"[^\W\d_]+$", before), re.match(r"[^\W\d_]+", following)
    if not first or not second or not second[0][0].islower():
        return "-"
    whole, hyphenated = (f"{first[0]}{sign}{second[0]}".lower() for sign in ("", "-"))
    return "-" if words[hyphenated] > words[whole] else ""


def write_html(title: str, paragraphs: Sequence[PdfParagraph]) -> bytes:
    lines = "\n".join(_html_lines(paragraphs))
    head = f'<meta charset="utf-8">\n<title>{_escape(title)}</title>'
    return f"<!DOCTYPE html>\n<html>\n<head>\n{head}\n</head>\n<body>\n{lines}\n</body>\n</html>\n".encode()


def _html_lines(paragraphs: Sequence[PdfParagraph]) -> Iterator[str]:
    for paragraph in paragraphs:
        tag = f"h{paragraph.level}" if paragraph.level else "p"
        plain = bool(paragraph.level)  # headings are bold anyway
        yield f"<{tag}>{''.join(_html_part(part, plain) for part in paragraph.parts)}</{tag}>"


def _html_part(part: StyledText, plain: bool) -> str:
    whole = _escape(part.text)
    text = whole.rstrip()
    if not text or plain:
        return whole
    space = whole[len(text) :]
    text = f"<i>{text}</i>" if part.italic else text
    return (f"<b>{text}</b>" if part.bold else text) + space


def write_docx(title: str, paragraphs: Sequence[PdfParagraph]) -> bytes:
    body = "".join(_word_paragraph(each) for each in paragraphs)
    types = {"word/document.xml": f"{_TYPE}.document.main+xml", "word/styles.xml": f"{_TYPE}.styles+xml"}
    types["docProps/core.xml"] = "application/vnd.openxmlformats-package.core-properties+xml"
    overrides = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in types.items())
    default = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    space = f"{_OFFICE}/package/2006"
    kinds = {
        "word/document.xml": f"{_OFFICE}/officeDocument/2006/relationships/officeDocument",
        "docProps/core.xml": f"{space}/relationships/metadata/core-properties",
    }
    main = _relations(space, kinds)
    styles = _relations(space, {"styles.xml": f"{_OFFICE}/officeDocument/2006/relationships/styles"})
    members = {
        "[Content_Types].xml": f'<Types xmlns="{space}/content-types">{default}{overrides}</Types>',
        "_rels/.rels": main,
        "word/document.xml": f"<w:document {_NAMESPACE}><w:body>{body}<w:sectPr/></w:body></w:document>",
        "word/_rels/document.xml.rels": styles,
        "word/styles.xml": f"<w:styles {_NAMESPACE}>{''.join(_styles())}</w:styles>",
        "docProps/core.xml": (
            f'<cp:coreProperties xmlns:cp="{space}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<dc:title>{_escape(title)}</dc:title></cp:coreProperties>"
        ),
    }
    output = BytesIO()
    with ZipFile(output, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = ZipInfo(name)
            info.compress_type = ZIP_DEFLATED
            archive.writestr(info, _DECLARATION + content)
    return output.getvalue()


def _relations(space: str, kinds: dict[str, str]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{kind}" Target="{name}"/>'
        for number, (name, kind) in enumerate(kinds.items(), 1)
    )
    return f'<Relationships xmlns="{space}/relationships">{listed}</Relationships>'


def _styles() -> Iterator[str]:
    yield '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/>'
    yield '<w:pPr><w:spacing w:after="120"/></w:pPr></w:style>'
    for level in range(1, MAX_LEVELS + 1):
        yield f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/>'
        yield f'<w:basedOn w:val="Normal"/><w:pPr><w:keepNext/><w:outlineLvl w:val="{level - 1}"/></w:pPr>'
        size = 38 - 4 * level
        yield f'<w:rPr><w:b/><w:bCs/><w:sz w:val="{size}"/><w:szCs w:val="{size}"/></w:rPr></w:style>'


def _word_paragraph(paragraph: PdfParagraph) -> str:
    style = f'<w:pPr><w:pStyle w:val="Heading{paragraph.level}"/></w:pPr>' if paragraph.level else ""
    return f"<w:p>{style}{''.join(_word_run(part, bool(paragraph.level)) for part in paragraph.parts)}</w:p>"


def _word_run(part: StyledText, plain: bool) -> str:
    looks = "" if plain else "<w:b/><w:bCs/>" * part.bold + "<w:i/><w:iCs/>" * part.italic
    properties = f"<w:rPr>{looks}</w:rPr>" if looks else ""
    return f'<w:r>{properties}<w:t xml:space="preserve">{_escape(part.text)}</w:t></w:r>'


def _escape(text: str) -> str:
    return escape(CONTROL.sub(" ", text), quote=False)
