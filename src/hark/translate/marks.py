"""Places tags, emphasis and emoji in a translation by word alignment; the model never sees them."""

import re
from collections.abc import Collection, Sequence

from hark.text.protect import Item
from hark.text.rewrite import Rewriting, Span
from hark.text.terms import is_inflected
from hark.translate.align import Link, word_spans

_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]*)[^<>]*?(/?)>")


def pair_up(marks: Sequence[Item]) -> tuple[list[tuple[Item, Item]], list[Item]]:
    """Match opening and closing marks, such as <b> and </b>; return the pairs and the single marks."""
    pairs: list[tuple[Item, Item]] = []
    single: list[Item] = []
    waiting: list[Item] = []
    for mark in marks:
        at = next((i for i in reversed(range(len(waiting))) if closes(mark.text, waiting[i].text)), None)
        if at is not None:
            single += waiting[at + 1 :]
            pairs.append((waiting[at], mark))
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
    for number, (opening, closing) in enumerate(pairs):
        inside = opening.end, closing.start
        targets = [link.target for link in links if _overlap(link.source, inside)]
        if not targets:  # no links: guess from the position
            targets = _opposite(inside, source, links)
        if not targets:
            return None
        span = min(start for start, _ in targets), _before_punctuation(text, max(end for _, end in targets))
        if any(crosses(span, other) for other in spans):
            return None
        spans.append(span)
        width = span[1] - span[0]
        inserts.append((span[0], 1, -width, opening.text))
        inserts.append((span[1], 0, width + number, closing.text))
    for mark in single:
        if (insert := _beside(text, source, mark, links)) is None:
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


_BEFORE_NOUNS = """
    a an the of to in on at my your his her its our their
    der die das dem den des ein eine einen einem einer eines im am zum zur vom
    mein meine dein deine sein seine ihr ihre unser unsere
    le la les l un une du des el los las una il lo gli i o os as um uma de het een
"""
ARTICLES = frozenset(_BEFORE_NOUNS.split())
"""Words before a noun that are sometimes aligned with it; the term does not replace them."""
SURE, AS_SURE = 0.4, 0.85
"""Minimum weight of a link to a term, and of further links as a share of the surest. The last word of a sentence
attracts links of verbs, because the full stop is part of it; they are weaker than the link of its translation."""
CONTENT = 4
"""Minimum letters of a word next to a term that must have a translation of its own. If it has none, the translation may
be a compound of both, as in `Batterielaufzeit`, and replacing it would lose a word."""
ALONE = 0.9
"""Weight of a link from which a word is the translation of the term alone: a compound attends to both of its words."""


def place_terms(text: str, source: str, terms: Sequence[Item], links: Sequence[Link]) -> tuple[Rewriting, list[Item]]:
    """Replace the words of a translation that are aligned with terms; return also the terms without a clear place.

    `terms` and the sources of `links` are offsets in `source`.
    """
    words = sorted({link.target for link in links})
    replaced: list[tuple[Span, Item]] = []
    lost: list[Item] = []
    for term in terms:
        aligned = _aligned(term, links)
        run = _run(text, words, aligned.keys())
        if run is None or _may_be_compound(source, term, links, aligned):
            lost.append(term)
        else:
            replaced.append((run, term))
    replaced.sort(key=lambda each: each[0])
    edits: list[tuple[Span, str]] = []
    for span, term in replaced:
        if edits and span[0] < edits[-1][0][1]:
            lost.append(term)
            continue
        now, written = text[slice(*span)], term.written if text[: span[0]].strip() else term.leading
        # The model's own words stay if they are a form of the term, with its capitals.
        edits.append((span, now if now.startswith(written) and is_inflected(now, written) else written))
    return Rewriting.of(text, edits), lost


def _aligned(term: Item, links: Sequence[Link]) -> dict[Span, float]:
    """The words that are aligned with a term about as surely as the surest of them, with their weights."""
    weights: dict[Span, float] = {}
    for link in links:
        if _overlap(link.source, term.span):
            weights[link.target] = max(link.weight, weights.get(link.target, 0.0))
    surest = max(weights.values(), default=0.0)
    return {span: weight for span, weight in weights.items() if surest >= SURE and weight >= AS_SURE * surest}


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _run(text: str, words: Sequence[Span], aligned: Collection[Span]) -> Span | None:
    """The span of the aligned words, without articles and punctuation at its edges; None if it has gaps."""
    places = [place for place, span in enumerate(words) if span in aligned]
    while len(places) > 1 and text[slice(*words[places[0]])].lower() in ARTICLES:
        del places[0]
    while len(places) > 1 and text[slice(*words[places[-1]])].lower() in ARTICLES:
        del places[-1]
    if not places or places[-1] - places[0] >= len(places):
        return None
    start, end = words[places[0]][0], words[places[-1]][1]
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return (start, end) if start < end and text[start:end].lower() not in ARTICLES else None


def _may_be_compound(source: str, term: Item, links: Sequence[Link], aligned: dict[Span, float]) -> bool:
    """Whether a long word next to the term has no translation of its own, and may share that of the term."""
    if len(aligned) != 1 or max(aligned.values()) >= ALONE:
        return False
    spans = word_spans(source)
    places = [place for place, span in enumerate(spans) if _overlap(span, term.span)]
    near = [*spans[max(0, places[0] - 1) : places[0]], *spans[places[-1] + 1 : places[-1] + 2]] if places else []
    return any(
        sum(map(str.isalpha, source[slice(*span)])) >= CONTENT
        and not any(_overlap(link.source, span) for link in links)
        for span in near
    )
