"""Splitting of sentences that are too long for a model: between clauses, else between words, else anywhere.

The work is linear in the length: a text of megabytes is processed in bounded windows.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import ceil

from hark.text.rewrite import Span

# Words that often start a clause. Used only if a sentence must be cut, so a wrong cut is better than none.
_CONJUNCTIONS = (
    "and|or|but|because|which|that|while|when|where|if|although|und|oder|aber|denn|sondern|weil|dass|wenn|während|"
    "et|ou|mais|car|que|qui|parce|y|o|pero|porque|e|ma|perché|che|en|maar|omdat"
)
_PLACES = tuple(
    re.compile(place, re.IGNORECASE)
    for place in (
        r"(?<=[.!?;:…])\s+|(?<=[。！？；：])",
        # Match white space only from its start: trying every position of a long run would be quadratic.
        r"(?<=[,)–—\]])\s+|(?<!\s)\s+(?=[(–—\[])|(?<=[，、])",
        rf"(?<!\s)\s+(?=(?:{_CONJUNCTIONS})\s)",
        r"\s+",
        # Between any two characters, but not before a combining mark or within a joined emoji.
        r"(?<=.)(?=[^\u0300-\u036f\u200d\ufe0f])(?<!\u200d)",
    )
)
"""Where a sentence may be cut, best first. White space at the cut belongs to neither part."""

WINDOW = 10_000
"""Characters processed at a time."""
# Letters of scripts without spaces between words: Thai, Lao, Burmese and Khmer, Chinese and Japanese.
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_UNBROKEN = re.compile(rf"(?<![^\s{_SPACELESS}])[^\s{_SPACELESS}]{{{WINDOW + 1},}}")
_SPACE, _REST = re.compile(r"\s"), re.compile(r"\s*")


def set_apart(text: str) -> list[str]:
    """Split a text into parts: unbroken runs too long to be words, and the text between them."""
    if len(text) <= WINDOW:
        return [text]
    ends = [0, *(place for match in _UNBROKEN.finditer(text) for place in match.span()), len(text)]
    return [text[start:end] for start, end in pairwise(ends) if start < end]


def is_unbroken(text: str) -> bool:
    """Whether a text is one unbroken run, too long to be a word: data, not language."""
    return len(text) > WINDOW and _UNBROKEN.fullmatch(text) is not None


def bounded(text: str) -> Iterator[str]:
    """Yield the text in windows of bounded length that end after white space, if there is any."""
    start = 0
    while len(text) - start > WINDOW:
        spaces = list(_SPACE.finditer(text, start + WINDOW // 2, start + WINDOW))
        end = spaces[-1].end() if spaces else start + WINDOW
        yield text[start:end]
        start = end
    yield text[start:]


def cut(text: str, fits: Callable[[str], bool], keep: Sequence[Span] = ()) -> list[str]:
    """Cut a text into parts that fit. Odd items are the white space between them, which may be empty: joined, all
    items are the text.

    No cut goes through a span in `keep`; these are in order and do not overlap. A part that is a single such span may
    not fit.
    """
    parts: list[str] = []
    start = 0
    while len(text) - start > WINDOW:
        window = start + WINDOW
        inside = keep[bisect_left(keep, (start,)) : bisect_left(keep, (window,))]
        place = best_place(text[start:window], [(one - start, min(other, window) - start) for one, other in inside])
        if place is None:  # all of it must be kept whole
            end = inside[-1][1] if inside else window
            place = (end - start, end - start)
        first, last = start + place[0], start + place[1]
        if last >= len(text):
            break
        parts += [*halve(text[start:first], fits, moved(inside, start, first)), text[first:last]]
        start = last
    return [*parts, *halve(text[start:], fits, moved(keep[bisect_left(keep, (start,)) :], start, len(text)))]


def moved(keep: Sequence[Span], start: int, end: int) -> list[Span]:
    """Return the spans inside a part of a text, relative to its start."""
    return [(one - start, other - start) for one, other in keep if start <= one and other <= end]


def halve(text: str, fits: Callable[[str], bool], keep: Sequence[Span]) -> list[str]:
    """Cut a text of bounded length near the middle, and the halves again, until they fit."""
    if fits(text):
        return [text]
    place = best_place(text, keep)
    if place is None:
        return [text]
    start, end = place
    before, after = moved(keep, 0, start), moved(keep, end, len(text))
    return [*halve(text[:start], fits, before), text[start:end], *halve(text[end:], fits, after)]


def best_place(text: str, keep: Sequence[Span] = ()) -> Span | None:
    """Return the best kind of cut near the middle, or else the cut of any kind nearest to it."""
    middle = len(text) / 2
    near = ceil(middle / 2)
    whole = _REST.match(text, near).end() if text[near - 1 : near].isspace() else near  # type: ignore[union-attr]
    for kind in _PLACES:
        # White space that starts too early is not near the middle, and neither is the rest of it.
        place = _nearest(kind, text, keep, middle, near if kind is _PLACES[-1] else whole)
        if place is not None and abs(place[0] - middle) <= middle / 2:
            return place
    candidates = [place for kind in _PLACES if (place := _nearest(kind, text, keep, middle, 0)) is not None]
    return min(candidates, key=lambda place: abs(place[0] - middle), default=None)


def _nearest(kind: re.Pattern[str], text: str, keep: Sequence[Span], middle: float, first: int) -> Span | None:
    """Return the cut of one kind nearest to the middle, searching from `first`."""
    best: Span | None = None
    ends = [end for _, end in keep]
    for match in kind.finditer(text, first):
        start, end = match.span()
        if best is not None and abs(start - middle) >= abs(best[0] - middle):
            return best  # all later ones are farther away
        nearest = bisect_right(ends, start)
        if start > 0 and end < len(text) and (nearest == len(keep) or keep[nearest][0] >= end):
            best = start, end
    return best
