"""Writes the terms of a glossary into a translation by word alignment.

The model translates the sentence with its own words, and the words that are aligned with a term are replaced. So the
rest of the sentence is as good as without a glossary. A form of the term that the model chose by itself stays, because
it fits the sentence. Where the alignment is in doubt, the term is reported as lost,
and the piece is translated again with the term masked.
"""

from collections.abc import Collection, Sequence

from hark.decode.align import Link, word_spans
from hark.text.protect import Item
from hark.text.rewrite import Rewriting, Span
from hark.text.terms import is_inflected

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
        else:
            written = term.leading if not text[: span[0]].strip() else term.written
            edits.append((span, text[slice(*span)] if _keeps_form(text[slice(*span)], written) else written))
    return Rewriting.of(text, edits), lost


def _keeps_form(words: str, written: str) -> bool:
    """Whether the model's words are a form of the term, with the capitals of the term."""
    return words.startswith(written) and is_inflected(words, written)


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
