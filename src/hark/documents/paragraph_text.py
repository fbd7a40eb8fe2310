"""Paragraphs of office files: runs of formatted text become segments, and translations become runs.

A sentence is translated once, however many runs it is made of. Tabs and line breaks divide a paragraph into texts.
"""

from collections.abc import Iterator, Sequence

from hark.documents.document import SegmentTranslation
from hark.documents.markup import MAX_DEPTH, MAX_TAGS
from hark.documents.paragraph_piece import Half, Item, Kept, ParagraphPiece, TextRun, Wrap, emit, visible

_ENDS = ".!?:;…。！？"


def pair_halves(items: Sequence[Item]) -> list[Item]:
    """Make ranges whose beginning and end are here elements around their content, unless they cross or hold a break."""
    output: list[Item] = []
    opened: dict[str, int] = {}
    """The place of each range that is open, the last one at the end."""
    for item in items:
        if isinstance(item, Half) and not item.opens and item.key in opened:
            crosses = next(reversed(opened)) != item.key
            start = opened.pop(item.key)
            beginning, content = output[start], output[start + 1 :] if not crosses else []
            fits = not crosses and not any(map(_has_break, content)) and _measure(content)[1] < MAX_DEPTH
            if fits and isinstance(beginning, Kept):
                output[start:] = [Wrap(beginning.raw, item.raw, content)]
                continue
            if not crosses:
                opened.clear()  # those around it hold the same break, or are even deeper
        output.append(item)
        if isinstance(item, Half) and item.opens:
            opened.pop(item.key, None)
            opened[item.key] = len(output) - 1
    return output


class ParagraphText:
    """The content of a paragraph, from `start` to `end` in the source."""

    def __init__(self, start: int, end: int, items: Sequence[Item]) -> None:
        self.start, self.end = start, end
        self._parts = list(_split(items))
        self.segments = tuple(part.segment for part in self._parts if isinstance(part, ParagraphPiece))

    def fill(self, translations: Sequence[SegmentTranslation]) -> str | None:
        """The source of the content with its segments translated; None if nothing changes."""
        if all(new.text == old.text for new, old in zip(translations, self.segments, strict=True)):
            return None
        rest = iter(translations)
        return "".join(part if isinstance(part, str) else part.fill(next(rest)) for part in self._parts)


def _has_break(item: Item) -> bool:
    if isinstance(item, Wrap):
        return any(map(_has_break, item.children))
    return isinstance(item, Kept) and (item.splits or item.line_break)


def _split(items: Sequence[Item]) -> Iterator[str | ParagraphPiece]:
    """Split content at tabs and line breaks into texts, and source that stays as it is."""
    piece: list[Item] = []
    continuing = _find_continuing(items)
    for number, item in enumerate(items):
        if number in continuing:
            piece.append(item)
        elif _has_break(item) or (isinstance(item, TextRun) and _is_blank(items, number)):
            yield from _pieces(piece)
            piece = []
            if isinstance(item, Wrap):
                yield item.opening
                yield from _split(item.children)
                yield item.closing
            else:
                yield emit([item])
        else:
            piece.append(item)
    yield from _pieces(piece)


def _find_continuing(items: Sequence[Item]) -> set[int]:
    """The places of line breaks after which a sentence goes on."""
    found: set[int] = set()
    waiting: list[int] = []
    last = ""
    for number, item in enumerate(items):
        if isinstance(item, Kept) and item.line_break:
            waiting += [number] if last and last not in _ENDS else []
        elif text := visible([item]).strip():
            found.update(waiting if text[0].islower() else ())
            waiting, last = [], text[-1]
    return found


def _is_blank(items: Sequence[Item], number: int) -> bool:
    """Whether a run is a gap with its own format, such as an underlined one to fill in."""
    run = items[number]
    assert isinstance(run, TextRun)
    if len(run.text) < 2 or not run.text.isspace():
        return False
    around = [items[place] for place in (number - 1, number + 1) if 0 <= place < len(items)]
    return not any(isinstance(each, TextRun) and each.format == run.format for each in around)


def _pieces(items: list[Item]) -> Iterator[str | ParagraphPiece]:
    if not any(map(str.isalpha, visible(items))):
        yield emit(items)
        return
    tags, depth = _measure(items)
    if tags <= MAX_TAGS and depth <= MAX_DEPTH:
        yield ParagraphPiece(items)
        return
    for item in items:  # too much for one text: runs are translated one by one
        match item:
            case Wrap():
                yield item.opening
                yield from _pieces(item.children)
                yield item.closing
            case TextRun() if any(map(str.isalpha, item.text)):
                yield ParagraphPiece([item])
            case _:
                yield emit([item])


def _measure(items: Sequence[Item]) -> tuple[int, int]:
    """The number of tags, and their depth."""
    tags = depth = 0
    for item in items:
        inner = _measure(item.children) if isinstance(item, Wrap) else (0, 0)
        tags, depth = tags + 1 + inner[0], max(depth, 1 + inner[1])
    return tags, depth
