"""Strategies for translating one piece of text, from the plain one to the safest.

Each is an `Attempt`: a sequence of literal text and queries to the model.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from hark.config import DecodeConfig
from hark.engine.interface import Request
from hark.text import protect, segments
from hark.text.address import Address
from hark.text.protect import Item
from hark.text.rewrite import Rewriting, Span
from hark.text.vocabulary import Coder

SAFE_BEAM = 8
FIRST_NUMBER, SECOND_NUMBER = 317, 428
"""Masks are numbers that count up from here: the first on the first attempt, the second on a retry."""
_CLOSING = re.compile(r"[\s.,;:!?…)\]}»”’]*")
"""Characters that belong to the text before them; models translate badly when the input starts with them."""
SHARE = 0.8
"""Minimum share of capitals among the letters of a shouted text; `NATO and the EU agree` has fewer."""
CASED_LETTERS = 7
"""Minimum letters that have capitals; a shorter text may be an abbreviation (`UNESCO`)."""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Query:
    """A span of the piece that the model translates."""

    start: int
    """Its offset in the piece."""
    rewriting: Rewriting
    """From the span to the model's input."""
    items: tuple[Item, ...] = ()
    """Protected items that the translation must contain."""
    marks: tuple[Item, ...] = ()
    """Tags and the like, hidden from the model and put back by the alignment."""
    terms: tuple[Item, ...] = ()
    """Terms of a glossary, which the model sees; its words for them are replaced by the alignment."""
    shouted: bool = False
    """Whether to put the translation in capitals."""
    inner: bool = False
    """Whether the sentence continues after it, so that it must not end with a full stop."""

    @property
    def model_input(self) -> str:
        return self.rewriting.after


@dataclass(frozen=True)
class Attempt:
    """One way to translate a piece: literal text and queries, with the settings of the search."""

    parts: tuple[str | Query, ...]
    search: DecodeConfig

    @property
    def queries(self) -> tuple[Query, ...]:
        return tuple(part for part in self.parts if isinstance(part, Query))

    def requests(
        self,
        coder: Coder,
        attention: bool,
        target: str | None = None,
        source: str | None = None,
        address: Address | None = None,
    ) -> list[Request]:
        """One request for each query; multilingual models need the target language, and some the source language."""
        prefix = coder.target.prefix(target)
        return [
            Request(
                coder.source.source_ids(query.model_input, target, source, address),
                self.search,
                prefix,
                attention=attention or bool(query.marks or query.terms),
            )
            for query in self.queries
        ]


def safer(search: DecodeConfig) -> DecodeConfig:
    """Settings for a wider search that returns all hypotheses, without sampling, and with a higher length limit."""
    beam = max(SAFE_BEAM, search.beam)
    return replace(
        search, beam=beam, nbest=beam, sample=False, diverse=False, patience=1.0, max_extra=2 * search.max_extra + 10
    )


def whole_piece(text: str, items: Sequence[Item], search: DecodeConfig, inner: bool) -> Attempt:
    """Translate the piece as a whole.

    Marks at its edges mean nothing to the model and are kept as literal text. Marks inside are removed, to be placed by
    the alignment. Items that the model must not see are masked with numbers.
    """
    first, last = edges(text, items)
    core = [shift_item(item, first) for item in items if first <= item.start and item.end <= last]
    query = mask(text[first:last], first, core, FIRST_NUMBER, inner=inner)
    return Attempt((text[:first], query, text[last:]), search)


def mask(
    text: str, start: int, items: Sequence[Item], number: int, everything: bool = False, inner: bool = False
) -> Query:
    """Remove the marks from a span and replace items with numbers that do not occur in it.

    Only items that the model must not see are replaced, or all with `everything`. Numbers, because every model has
    learnt to copy them.
    """
    marks = tuple(item for item in items if item.mark)
    terms = tuple(item for item in items if item.kind == "term" and not everything)
    numbers = (str(n) for n in count(number, 111) if str(n) not in text)
    shown = [
        replace(item, shown=next(numbers), pattern=None)
        if (item.opaque and not item.shown) or (everything and item.kind != "number")
        else item
        for item in items
        if not item.mark and item not in terms
    ]
    edits = [(item.span, item.shown) for item in shown if item.shown] + [(mark.span, "") for mark in marks]
    rewriting = Rewriting.of(text, sorted(edits)) if edits else Rewriting(text, text)
    return Query(start, rewriting, tuple(shown), marks, terms, inner=inner)


def edges(text: str, items: Sequence[Item]) -> Span:
    """The span of a piece without the tags, symbols and spaces at its edges."""
    first, last = 0, len(text)
    loose = [item for item in items if item.mark]
    for item in loose:
        if not text[first : item.start].strip():
            first = item.end
    for item in reversed(loose):
        if item.start >= first and not text[item.end : last].strip():
            last = item.start
    core = text[first:last]
    return first + len(core) - len(core.lstrip()), last - len(core) + len(core.rstrip())


def in_sentence_case(plain: Attempt) -> Attempt:
    """Translate the same text in sentence case; its capitals are restored afterwards."""
    return replace(plain, parts=tuple(part if isinstance(part, str) else lower_query(part) for part in plain.parts))


def lower_query(query: Query) -> Query:
    text = query.rewriting.after
    keep = [query.rewriting.forth(item.span) for item in (*query.items, *query.terms)]
    lower = sentence_case(text, keep).after
    # Capitals whose lower case has another length (İ) would shift the offsets of replaced items.
    rewriting = replace(query.rewriting, after=lower) if len(lower) == len(text) else query.rewriting
    if not query.rewriting.edits:
        rewriting = sentence_case(text, keep)
    return replace(query, rewriting=rewriting, shouted=True)


def with_all_masked(plain: Attempt, figures: Sequence[Item], search: DecodeConfig) -> Attempt:
    """Mask all items with numbers, and the `figures` of the piece as well."""
    parts: list[str | Query] = []
    for part in plain.parts:
        if isinstance(part, str):
            parts.append(part)
            continue
        text = part.rewriting.before
        end = part.start + len(text)
        exact = [item for item in (*part.items, *part.marks, *part.terms) if item.exact]
        taken = protect.Spans(text, (item.span for item in exact))
        inside = [shift_item(item, part.start) for item in figures if part.start <= item.start and item.end <= end]
        exact += [replace(item, kind="quantity") for item in inside if taken.take(item.span)]
        loose = [item for item in part.items if not item.exact and taken.is_free(item.span)]
        exact.sort(key=lambda item: item.start)
        query = mask(text, part.start, [*exact, *loose], SECOND_NUMBER, everything=True, inner=part.inner)
        parts.append(query)
    return Attempt(tuple(parts), search)


def around_items(text: str, items: Sequence[Item], search: DecodeConfig, inner: bool) -> Attempt:
    """Keep items in place and translate only the text between them: clumsy, but no item can be lost."""
    parts: list[str | Query] = []
    end = 0
    exact = [item for item in items if item.exact]
    for item in [*exact, None]:
        start = item.start if item else len(text)
        loose = [each for each in items if not each.exact and end <= each.start and each.end <= start]
        parts += split_span(text, (end, start), loose, inner or item is not None)
        if item is not None:
            parts.append((not text[: item.start].strip() and item.leading) or item.written or item.text)
            end = item.end
    return Attempt(tuple(parts), search)


def in_halves(text: str, items: Sequence[Item], search: DecodeConfig, inner: bool) -> Attempt | None:
    """Translate the piece in two parts, cut between clauses if possible; None if it cannot be cut between words."""
    place = segments.best_place(text, [item.span for item in items])
    if place is None or place[0] == place[1]:
        return None
    cut, end = place
    before, after = [item for item in items if item.end <= cut], [item for item in items if item.start >= end]
    first, second = split_span(text, (0, cut), before, True), split_span(text, (end, len(text)), after, inner)
    return Attempt((*first, text[cut:end], *second), search)


def split_span(text: str, span: Span, items: Sequence[Item], inner: bool) -> list[str | Query]:
    """Split a span into a query, if it has words, and the literal spaces and punctuation around it."""
    start, end = span
    part = text[start:end]
    if not protect.has_words(part, [shift_item(item, start) for item in items]):
        return [part]
    core = part.rstrip()
    before = _CLOSING.match(core).end()  # type: ignore[union-attr]  # it matches the empty string
    core = core[before:]
    inside = [shift_item(item, start + before) for item in items]
    query = mask(core, start + before, inside, FIRST_NUMBER, inner=inner)
    return [part[:before], query, part[before + len(core) :]]


def shift_item(item: Item, by: int) -> Item:
    return replace(item, start=item.start - by, end=item.end - by)


def is_shouted(text: str, keep: Sequence[Span] = ()) -> bool:
    """Whether a sentence is in capitals, ignoring the spans to keep."""
    if sum(map(str.isupper, text)) < SHARE * CASED_LETTERS:  # a fast check that settles nearly every sentence
        return False
    letters = [c for start, end in _apart_from(text, keep) for c in text[start:end] if c.isupper() or c.islower()]
    return len(letters) >= CASED_LETTERS and sum(map(str.isupper, letters)) >= SHARE * len(letters)


def sentence_case(text: str, keep: Sequence[Span] = ()) -> Rewriting:
    """Lowercase all but the first letter, word by word, so that each word keeps its mapping."""
    rewriting = _change(text, keep, str.lower)
    after = rewriting.after
    first = next((i for i, c in enumerate(after) if c.isalpha()), None)
    if first is None or any(start <= first < end for start, end in map(rewriting.forth, keep)):
        return rewriting
    raised = after[:first] + after[first].title() + after[first + 1 :]
    return Rewriting(text, raised, rewriting.edits) if len(raised) == len(after) else rewriting


def shout(text: str, keep: Sequence[Span] = ()) -> Rewriting:
    """Uppercase the text; `ß` becomes `SS`."""
    return _change(text, keep, str.upper)


def _change(text: str, keep: Sequence[Span], change: Callable[[str], str]) -> Rewriting:
    words = [
        ((start + word.start(), start + word.end()), change(word[0]))
        for start, end in _apart_from(text, keep)
        for word in _WORD.finditer(text[start:end])
    ]
    return Rewriting.of(text, words)


def _apart_from(text: str, keep: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans between those to keep."""
    end = 0
    for start, stop in sorted(keep):
        yield end, start
        end = stop
    yield end, len(text)
