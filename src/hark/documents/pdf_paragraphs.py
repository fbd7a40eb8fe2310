"""Paragraphs and headings from the lines of a PDF file: its files say where letters are, not what they belong to."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from hark.documents.pdf_lines import PdfLine, PdfText, StyledText

HEADING = 1.12
"""A line in a font this many times the size of most text is a heading."""
LEVELS = 4
EDGE, APART = 2, 1.6
"""Running titles are at most so many lines at the top or bottom of a page, so many font sizes apart from the text."""
REPEATED, AT_LEAST = 0.4, 3
"""A running title is on this share of the pages, at least on so many: left and right pages may differ."""
GAP = 1.35
"""A distance of so many usual ones begins a paragraph."""
SHORT = 0.8
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
    body = _body_size(lines)
    sizes = sorted({line.size for line in lines if line.size > HEADING * body}, reverse=True)
    levels = {size: min(number, LEVELS) for number, size in enumerate(sizes, 1)}
    words = Counter(word.lower() for line in lines for word in _WORD.findall(line.text))
    layout = _ColumnLayout(lines)
    groups: list[list[PdfLine]] = []
    for line in lines:
        if groups and not layout.begins_paragraph(groups[-1], line):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [PdfParagraph(tuple(_join(group, words)), levels.get(group[0].size, 0)) for group in groups]


def _body_size(lines: Iterable[PdfLine]) -> float:
    sizes = Counter[float]()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes.most_common(1)[0][0]


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
    limit = max(AT_LEAST, REPEATED * len(pages))
    running = {found for found, count in counts.items() if count >= (AT_LEAST if found[0] == "#" else limit)}
    dropped = {id(line) for edge in edges.values() for line in edge if key(line) in running}
    return [line for line in text.lines if id(line) not in dropped]


def _edge(page: Sequence[PdfLine], top: bool) -> list[PdfLine]:
    """The lines at the top or the bottom of a page that are apart from the text."""
    ordered = sorted(page, key=lambda line: line.baseline, reverse=top)
    rows: list[list[PdfLine]] = []
    for line in ordered:
        if rows and abs(rows[-1][0].baseline - line.baseline) < 0.5 * line.size:
            rows[-1].append(line)
        elif len(rows) <= EDGE:
            rows.append([line])
    for count in range(len(rows) - 1, 0, -1):
        inner, outer = rows[count][0], rows[count - 1][0]
        if abs(inner.baseline - outer.baseline) > APART * max(inner.size, outer.size):
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
        short = before.right - before.left < SHORT * self._width[line.size]
        drop = before.baseline - line.baseline
        if line.page != before.page or drop < 0:  # another page or column
            return (ended or not line.text.lstrip()[:1].islower()) and (ended or short)
        if drop < 0.3 * line.size:  # beside it, as in tables
            return True
        if drop > GAP * self._pitch.get(line.size, 1.2 * line.size):
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
        for part in found:
            if parts and (parts[-1].bold, parts[-1].italic) == (part.bold, part.italic):
                parts[-1] = replace(parts[-1], text=parts[-1].text + part.text)
            else:
                parts.append(part)
    return (replace(part, text=_SPACES.sub(" ", _LEADERS.sub(" … ", part.text))) for part in parts if part.text)


def _hyphen(before: str, following: str, words: Counter[str]) -> str:
    """What stands between the halves of a word: a hyphen if the word is written with one elsewhere in the file."""
    first, second = re.search(r"[^\W\d_]+$", before), re.match(r"[^\W\d_]+", following)
    if not following:
        return "-"
    if not first or not second or not second[0][0].islower():
        return "-"
    whole, hyphenated = (f"{first[0]}{sign}{second[0]}".lower() for sign in ("", "-"))
    return "-" if words[hyphenated] > words[whole] else ""
