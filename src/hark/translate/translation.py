"""Translations: of pieces, of the sentences that they make up, and of texts, with scores, flags and word links.

Pieces are joined into sentences, and these into texts, with the white space of the source (`hark.text.segments`) and
the lines of its paragraphs (`hark.text.paragraphs`).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import Literal, Protocol, get_args

from hark.engine.interface import length_penalty
from hark.text.address import Address
from hark.text.paragraphs import Unit, wrap
from hark.text.rewrite import Rewriting, Span
from hark.text.segments import TextLayout
from hark.translate.align import Link

Fault = Literal[
    "empty", "looped", "truncated", "changed", "number", "limit", "lost", "invented", "length", "language", "unsure"
]  # fmt: skip
"""What is wrong with a translation, worst first.

empty: no output. looped: the same words over and over. truncated: cut off at the length limit. changed: protected text
is missing, altered or repeated. number: a number is missing, different or invented. limit: a word of limit, order or
negation has turned round, is missing or was added. lost: source words have no counterpart. invented: words without a
counterpart in the source. length: implausibly long or short. language: the source is not in the model's language.
unsure: the model's confidence is low.
"""
FAULTS: tuple[Fault, ...] = get_args(Fault)
Care = Literal["copied", "phrase", "split", "tidied", "recased", "retried", "repaired", "untranslated"]
"""How a sentence was handled.

copied: it has nothing to translate. phrase: taken from the phrase table. split: translated in parts, because it was too
long or failed as a whole. tidied: typing errors (dont, schoen) were corrected first. recased: translated in lower case,
then put back into capitals. retried: decoded again, because the first translation was faulty. repaired: text that the
model lost or changed was restored. untranslated: the model produced nothing, so the source was kept.
"""
Flag = Care | Fault
FLAGS: tuple[Flag, ...] = (*get_args(Care), *FAULTS)
"""All flags, in the order in which results list them. Those in `FAULTS` are warnings."""
MESSAGES: dict[Fault, str] = {
    "empty": "the model produced nothing; the source text was kept",
    "looped": "the translation repeats itself",
    "truncated": "the translation was cut off",
    "changed": "protected text was changed",
    "number": "a number changed",
    "limit": "a limit, an order or a negation changed",
    "lost": "words may be missing",
    "invented": "much longer than the source; words may be invented",
    "length": "implausible length for the source",
    "language": "not translated: not in the source language",
    "unsure": "low confidence",
}
MAX_DETAIL_CHARS = 60
"""Maximum characters of a detail to show."""


@dataclass(frozen=True)
class Reason:
    """A fault of a translation, with the text that it concerns."""

    flag: Fault
    detail: str = ""
    """The affected text, such as `120 -> 1`."""

    def __str__(self) -> str:
        detail = self.detail if len(self.detail) <= MAX_DETAIL_CHARS else self.detail[: MAX_DETAIL_CHARS - 1] + "…"
        return f"{MESSAGES[self.flag]} ({detail})" if detail else MESSAGES[self.flag]


def in_order(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Sort reasons by severity, worst first, and merge those with the same flag."""
    details: dict[Fault, dict[str, None]] = {}
    for reason in reasons:
        details.setdefault(reason.flag, {})[reason.detail] = None
    return tuple(Reason(flag, ", ".join(filter(None, details[flag]))) for flag in FAULTS if flag in details)


@dataclass(frozen=True)
class Alternative:
    """Another translation of the same text."""

    text: str
    score: float


@dataclass(frozen=True)
class Piece:
    """A piece and its translation."""

    source: str
    text: str
    score: float | None = None
    tokens: int = 0
    flags: frozenset[Flag] = frozenset()
    reasons: tuple[Reason, ...] = ()
    links: tuple[Link, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True)
class Sentence:
    """A sentence and its translation; `source_start` and `start` are their offsets in the two texts."""

    source: str
    text: str
    score: float | None
    """Log-probability divided by the length penalty; the token-weighted mean if translated in parts. None if nothing
    was translated."""
    tokens: int
    """Length of the translation in tokens, EOS included: the weight of the score in a mean."""
    flags: tuple[Flag, ...] = ()
    reasons: tuple[Reason, ...] = ()
    """Its faults, worst first."""
    links: tuple[Link, ...] = ()
    """The word alignment, on request; offsets are relative to this sentence."""
    alternatives: tuple[Alternative, ...] = ()
    """Further translations without faults, best first, on request."""
    source_start: int = 0
    start: int = 0

    def doubt(self, alpha: float) -> float | None:
        """The mean negative log-probability per token; `alpha` is the length penalty of the search. None if nothing
        was translated."""
        if self.score is None or not self.tokens:
            return None
        return -self.score * length_penalty(self.tokens, alpha) / self.tokens


@dataclass(frozen=True)
class Translation:
    """A text and its translation."""

    source: str
    text: str
    sentences: tuple[Sentence, ...]
    layout: TextLayout
    formality: Address | None = None
    """The form of address that the model was asked for."""

    @property
    def score(self) -> float | None:
        """The token-weighted mean of the sentence scores."""
        return mean((sentence.score, sentence.tokens) for sentence in self.sentences)

    def confidence(self, alpha: float) -> float | None:
        """The model's mean probability of a token in the sentence that it is least sure of, as in the warning `low
        confidence`; None if nothing was translated."""
        doubts = [doubt for sentence in self.sentences if (doubt := sentence.doubt(alpha)) is not None]
        return math.exp(-max(doubts)) if doubts else None

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The flags of all sentences; `copied` only if no sentence was translated."""
        flags = {flag for sentence in self.sentences for flag in sentence.flags}
        if any("copied" not in sentence.flags for sentence in self.sentences):
            flags.discard("copied")
        return order_flags(flags)

    @property
    def doubtful(self) -> tuple[Flag, ...]:
        """The flags that are warnings."""
        return tuple(flag for flag in self.flags if flag in FAULTS)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The faults of all sentences, worst first."""
        return in_order(reason for sentence in self.sentences for reason in sentence.reasons)

    @property
    def links(self) -> tuple[Link, ...]:
        """The word alignment, with offsets in the whole texts."""
        return tuple(
            Link(shift(link.source, sentence.source_start), shift(link.target, sentence.start), link.weight)
            for sentence in self.sentences
            for link in sentence.links
        )

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Further translations of the text: the second-best of every sentence, the third-best, and so on."""
        return combine(self.layout, self.sentences)


class Part(Protocol):
    """A translated part of a text: a sentence, or a piece of one."""

    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float | None: ...
    @property
    def tokens(self) -> int: ...
    @property
    def alternatives(self) -> tuple[Alternative, ...]: ...


def combine(layout: TextLayout, parts: Sequence[Part]) -> tuple[Alternative, ...]:
    """Combine the second-best of every part, the third-best, and so on; a part with fewer repeats its last one."""
    best = layout.join([part.text for part in parts])
    combined: dict[str, Alternative] = {}
    for rank in range(max((len(part.alternatives) for part in parts), default=0)):
        ranked = [(part.alternatives[: rank + 1] or (part,))[-1] for part in parts]
        score = mean((one.score, part.tokens) for one, part in zip(ranked, parts, strict=True))
        text = layout.join([each.text for each in ranked])
        if score is not None and text != best:
            combined.setdefault(text, Alternative(text, score))
    return tuple(combined.values())


def order_flags(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    distinct = set(flags)
    return tuple(flag for flag in FLAGS if flag in distinct) if distinct else ()


def mean(scores: Iterable[tuple[float | None, int]]) -> float | None:
    """The weighted mean of the scores that are not None; None if there are no such scores."""
    known = [(score, weight) for score, weight in scores if score is not None]
    total = sum(weight for _, weight in known)
    return sum(score * weight for score, weight in known) / total if total else None


def shift(span: Sequence[int], by: int) -> tuple[int, int]:
    return span[0] + by, span[1] + by


@dataclass(frozen=True)
class TextPlan:
    """Lines to translate: their layout, and each sentence cut into pieces, with whitespace at odd indices."""

    unit: Unit
    layout: TextLayout
    cuts: tuple[list[str], ...]
    phrases: tuple[str | None, ...] = ()
    """The phrase-table entry of each sentence, if any."""


def assemble(
    text: str, plans: Sequence[TextPlan], pieces: Sequence[Piece], formality: Address | None = None
) -> Translation:
    """Join the translated pieces of a text."""
    rest = iter(pieces)
    gaps, sources, sentences = [""], list[str](), list[Sentence]()
    translation, source_end = "", 0
    for plan in plans:
        translated, layout = _sentences(plan, rest), plan.layout
        joined = layout.join([sentence.text for sentence in translated])
        wrapped = wrap(joined, plan.unit) if plan.unit.joined else None
        for sentence in translated:
            place = _place_in(plan.unit, sentence.source_start)
            moved = replace(sentence, source_start=source_end + place, start=len(translation) + sentence.start)
            if wrapped is not None:
                span = wrapped.forth((sentence.start, sentence.start + len(sentence.text)))
                links = tuple(replace(link, target=_inside(wrapped, sentence, link)) for link in sentence.links)
                moved = replace(moved, text=wrapped.after[slice(*span)], start=len(translation) + span[0], links=links)
            sentences.append(moved)
        gaps[-1] += layout.gaps[0]
        gaps += layout.gaps[1:]
        sources += layout.sentences
        translation += wrapped.after if wrapped is not None else joined
        source_end += len(plan.unit.text)
    return Translation(text, translation, tuple(sentences), TextLayout(tuple(gaps), tuple(sources)), formality)


def _place_in(unit: Unit, place: int) -> int:
    """The place in the text of a unit of a place in its joined lines."""
    return place if unit.joined is None else unit.joined.back((place, place))[0]


def _inside(wrapped: Rewriting, sentence: Sentence, link: Link) -> Span:
    """The target span of a link within its sentence after the text is wrapped."""
    start = wrapped.forth((sentence.start, sentence.start))[0]
    return shift(wrapped.forth(shift(link.target, sentence.start)), -start)


class FinishedSentences:
    """Reports each sentence of a text as soon as its pieces are translated, in any order.

    `report` is called with the index of the sentence, the number of sentences, and the sentence. Its offset in the
    translation is 0, because it depends on the sentences before it, and its lines are not wrapped yet.
    """

    def __init__(self, plans: Sequence[TextPlan], report: Callable[[int, int, Sentence], object]) -> None:
        self._report = report
        self._parts: list[_Parts] = []
        self._of_place: list[tuple[int, int]] = []
        """The index of the sentence and of the piece within it, for each piece of the text."""
        end = 0
        for plan in plans:
            start = len(plan.layout.gaps[0])
            for source, cut, gap in zip(plan.layout.sentences, plan.cuts, plan.layout.gaps[1:], strict=True):
                count = (len(cut) + 1) // 2
                self._of_place += [(len(self._parts), i) for i in range(count)]
                self._parts.append(_Parts(source, cut[1::2], end + _place_in(plan.unit, start), [None] * count))
                start += len(source) + len(gap)
            end += len(plan.unit.text)

    def __call__(self, place: int, piece: Piece) -> None:
        index, part = self._of_place[place]
        parts = self._parts[index]
        parts.pieces[part] = piece
        known = [each for each in parts.pieces if each is not None]
        if len(known) == len(parts.pieces):
            sentence = join_pieces(parts.source, parts.gaps, known, parts.source_start)
            self._report(index, len(self._parts), sentence)


@dataclass
class _Parts:
    """A sentence and the pieces of it that are translated."""

    source: str
    gaps: Sequence[str]
    source_start: int
    pieces: list[Piece | None]


def _sentences(plan: TextPlan, rest: Iterator[Piece]) -> list[Sentence]:
    layout, found = plan.layout, list[Sentence]()
    source_start = len(layout.gaps[0])
    for source, cut, gap in zip(layout.sentences, plan.cuts, layout.gaps[1:], strict=True):
        found.append(join_pieces(source, cut[1::2], list(islice(rest, (len(cut) + 1) // 2)), source_start))
        source_start += len(source) + len(gap)
    # The gaps in the translation are known only when all sentences are.
    texts = [each.text for each in found]
    lengths = (len(text) + len(gap) for text, gap in zip(texts, layout.around(texts)[1:], strict=True))
    starts = accumulate(lengths, initial=len(layout.gaps[0]))
    return [replace(each, start=start) for each, start in zip(found, starts, strict=False)]


def join_pieces(source: str, gaps: Sequence[str], pieces: Sequence[Piece], source_start: int) -> Sentence:
    """Join the pieces of a sentence with the whitespace between them, as if its translation began at 0."""
    if len(pieces) == 1:  # nearly always; the general case takes three times as long
        (one,) = pieces
        return Sentence(
            source,
            one.text,
            one.score,
            one.tokens,
            order_flags(one.flags),
            one.reasons,
            one.links,
            one.alternatives,
            source_start,
        )
    layout = TextLayout(("", *gaps, ""), tuple(piece.source for piece in pieces))
    texts = [piece.text for piece in pieces]
    found: set[Flag] = {"split", *(flag for piece in pieces for flag in piece.flags)}
    if any("copied" not in piece.flags for piece in pieces):
        found.discard("copied")
    return Sentence(
        source,
        layout.join(texts),
        mean((piece.score, piece.tokens) for piece in pieces),
        sum(piece.tokens for piece in pieces),
        order_flags(found),
        in_order(reason for piece in pieces for reason in piece.reasons),
        tuple(joined_links(pieces, gaps, layout.around(texts)[1:])),
        combine(layout, pieces),
        source_start,
    )


def joined_links(pieces: Sequence[Piece], gaps: Sequence[str], target_gaps: Sequence[str]) -> Iterator[Link]:
    source = target = 0
    for piece, gap, target_gap in zip(pieces, [*gaps, ""], target_gaps, strict=True):
        for link in piece.links:
            yield Link(shift(link.source, source), shift(link.target, target), link.weight)
        source += len(piece.source) + len(gap)
        target += len(piece.text) + len(target_gap)
