"""A sentence that is too long for a model, cut where it hurts least: between clauses, between words, or anywhere."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from hark.text.rewrite import Span

# Before one of these a clause often begins. Only where a sentence must be cut; so a wrong cut is better than none.
_CONJUNCTIONS = (
    "and|or|but|because|which|that|while|when|where|if|although|und|oder|aber|denn|sondern|weil|dass|wenn|während|"
    "et|ou|mais|car|que|qui|parce|y|o|pero|porque|e|ma|perché|che|en|of|maar|omdat"
)
_PLACES = tuple(
    re.compile(place, re.IGNORECASE)
    for place in (
        r"(?<=[.!?;:…])\s+|(?<=[。！？；：])",
        r"(?<=[,)–—\]])\s+|\s+(?=[(–—\[])|(?<=[，、])",
        rf"\s+(?=(?:{_CONJUNCTIONS})\s)",
        r"\s+",
        r"(?<=.)(?=[^\u0300-\u036f\u200d\ufe0f])(?<!\u200d)",
    )
)
"""Where a sentence may be cut, the best first. White space at a place belongs to neither part."""


def cut(text: str, fits: Callable[[str], bool], keep: Sequence[Span] = ()) -> list[str]:
    """Parts that fit, in order, with the white space between them at odd places: joined, they are the text.

    No cut goes through a span that is to be kept whole; they are in order and do not overlap. A part that is nothing
    but such a span may not fit.
    """
    if fits(text):
        return [text]
    place = best_place(text, keep)
    if place is None:
        return [text]
    start, end = place
    before = [span for span in keep if span[1] <= start]
    after = [(one - end, other - end) for one, other in keep if one >= end]
    return [*cut(text[:start], fits, before), text[start:end], *cut(text[end:], fits, after)]


def best_place(text: str, keep: Sequence[Span] = ()) -> Span | None:
    """The place of the best kind near the middle; if there is none near it, the nearest to it of any kind."""
    middle = len(text) / 2
    fallback: list[Span] = []
    for kind in _PLACES:
        places = list(_places(kind, text, keep))
        near = [place for place in places if abs(place[0] - middle) <= middle / 2]
        if near:
            return min(near, key=lambda place: abs(place[0] - middle))
        fallback += places
    return min(fallback, key=lambda place: abs(place[0] - middle), default=None)


def _places(kind: re.Pattern[str], text: str, keep: Sequence[Span]) -> Iterator[Span]:
    ends = [end for _, end in keep]
    for match in kind.finditer(text):
        start, end = match.span()
        if start == 0 or end == len(text):
            continue
        nearest = bisect_right(ends, start)
        if nearest == len(keep) or keep[nearest][0] >= end:
            yield start, end
