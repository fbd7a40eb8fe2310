"""Joins translated pieces into sentences and texts, with their whitespace and word links."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice

from hark.text.address import Address
from hark.text.paragraphs import Unit, wrap
from hark.text.rewrite import Rewriting, Span
from hark.text.segments import TextLayout
from hark.translate.align import Link
from hark.translate.faults import in_order as order_reasons
from hark.translate.piece import Piece
from hark.translate.translation import Flag, Sentence, Translation, combine, in_order, mean, shift


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
            in_order(one.flags),
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
        in_order(found),
        order_reasons(reason for piece in pieces for reason in piece.reasons),
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
