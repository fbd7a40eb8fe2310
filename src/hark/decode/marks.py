"""Places tags, emphasis and emoji in a translation by word alignment; the model never sees them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hark.decode.align import Link
from hark.text.protect import Item
from hark.text.rewrite import Rewriting, Span

_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*)[^<>]*?(/?)>")


@dataclass(frozen=True)
class MarkPair:
    """An opening and a closing mark, such as <b> and </b>."""

    opening: Item
    closing: Item


def pair_up(marks: Sequence[Item]) -> tuple[list[MarkPair], list[Item]]:
    """Match opening and closing marks; return the pairs and the single marks."""
    pairs: list[MarkPair] = []
    single: list[Item] = []
    waiting: list[Item] = []
    for mark in marks:
        at = next((i for i in reversed(range(len(waiting))) if closes(mark.text, waiting[i].text)), None)
        if at is not None:
            single += waiting[at + 1 :]
            pairs.append(MarkPair(waiting[at], mark))
            del waiting[at:]
        elif mark.kind == "markup" and opens(mark.text):
            waiting.append(mark)
        else:
            single.append(mark)
    return pairs, [*single, *waiting]


def opens(text: str) -> bool:
    tag = _TAG.fullmatch(text)
    return not (tag[1] or tag[3]) if tag else not text.startswith(("<", "&"))


def closes(text: str, opening: str) -> bool:
    tag, first = _TAG.fullmatch(text), _TAG.fullmatch(opening)
    if tag is None or first is None:
        return text == opening and not text.startswith(("<", "&"))
    return bool(tag[1]) and tag[2] == first[2]


def place(text: str, source: str, marks: Sequence[Item], links: Sequence[Link]) -> Rewriting | None:
    """Insert marks into a translation; return None if the alignment does not give a place for every mark.

    `marks` and the sources of `links` are offsets in `source`.
    """
    pairs, single = pair_up(marks)
    inserts: list[tuple[int, int, int, str]] = []
    spans: list[Span] = []
    for number, pair in enumerate(pairs):
        inside = pair.opening.end, pair.closing.start
        targets = [link.target for link in links if link.source[0] < inside[1] and inside[0] < link.source[1]]
        if not targets:  # no links: guess from the position
            targets = _opposite(inside, source, links)
        if not targets:
            return None
        span = min(start for start, _ in targets), _before_punctuation(text, max(end for _, end in targets))
        if any(crosses(span, other) for other in spans):
            return None
        spans.append(span)
        width = span[1] - span[0]
        inserts.append((span[0], 1, -width, pair.opening.text))
        inserts.append((span[1], 0, width + number, pair.closing.text))
    for mark in single:
        insert = _beside(text, source, mark, links)
        if insert is None:
            return None
        inserts.append(insert)
    edits = [((at, at), mark) for at, _, _, mark in sorted(inserts, key=lambda each: each[:3])]
    return Rewriting.of(text, edits)


def _opposite(span: Span, source: str, links: Sequence[Link]) -> list[Span]:
    """The word of the translation at the same relative position as the middle of a source span."""
    middle = (span[0] + span[1]) / 2 / len(source)
    words = sorted({link.target for link in links})
    return [words[min(len(words) - 1, int(middle * len(words)))]] if words and span[0] < span[1] else []


def crosses(one: Span, other: Span) -> bool:
    first, second = sorted((one, other))
    return first[0] < second[0] < first[1] < second[1]


def _before_punctuation(text: str, end: int) -> int:
    """The end of a word without trailing punctuation: marks close before a full stop."""
    while end > 0 and text[end - 1] in ".,;:!?…":
        end -= 1
    return end


def _beside(text: str, source: str, mark: Item, links: Sequence[Link]) -> tuple[int, int, int, str] | None:
    """Place a single mark: after the translation of the word before it, or before that of the word after it."""
    glued = mark.start > 0 and not source[mark.start - 1].isspace()
    space_before = " " if mark.start > 0 and source[mark.start - 1].isspace() else ""
    space_after = " " if mark.end < len(source) and source[mark.end].isspace() else ""
    before = [link for link in links if link.source[1] <= mark.start]
    after = [link for link in links if link.source[0] >= mark.end]
    leads = not glued and not space_after and bool(after)  # it is attached to the next word
    if before and not leads:
        nearest = max(link.source[1] for link in before)
        end = max(link.target[1] for link in before if link.source[1] == nearest)
        end = _before_punctuation(text, end) if glued else end
        # Keep its surrounding spaces, unless there is one already.
        tail = "" if text[end : end + 1].isspace() or end == len(text) else space_after
        return end, 0, 0, f"{space_before}{mark.text}{tail}"
    if after:
        nearest = min(link.source[0] for link in after)
        start = min(link.target[0] for link in after if link.source[0] == nearest)
        return start, 1, 0, f"{mark.text}{space_after}"
    return None
