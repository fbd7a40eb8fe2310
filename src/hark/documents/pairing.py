"""Pairs of sentences from two versions of a document: the original and its translation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hark.documents.alignment import Aligner, Bead, TextSentence
from hark.documents.document import Document
from hark.documents.tmx_units import TranslationUnit
from hark.text.sentences import split_sentences


@dataclass(frozen=True)
class Evidence:
    """What tells which sentences correspond, besides their lengths."""

    translate: Callable[[list[str]], list[str]] | None = None
    """Translates sentences; None: only words that are the same in both languages are compared."""
    reverse: bool = False
    """Whether it translates the second document instead of the first."""


@dataclass(frozen=True)
class PairedDocuments:
    """The pairs of two documents, and the number of sentences of each that have no partner."""

    units: tuple[TranslationUnit, ...]
    alone: tuple[int, int]


def pair_documents(
    source: Document, target: Document, languages: tuple[str, str], evidence: Evidence
) -> PairedDocuments:
    """Align the sentences of two documents."""
    sides = [read_sentences(each, language) for each, language in zip((source, target), languages, strict=True)]
    beads = align_sentences(sides[0], sides[1], evidence)
    units = [
        TranslationUnit(_join(sides[0], each.source), _join(sides[1], each.target), each.score, each.low)
        for each in beads
        if each.source and each.target
    ]
    alone = sum(not each.target for each in beads), sum(not each.source for each in beads)
    return PairedDocuments(tuple(units), alone)


def align_sentences(source: Sequence[TextSentence], target: Sequence[TextSentence], evidence: Evidence) -> list[Bead]:
    """Align two texts; a model of the opposite direction serves as well."""
    if evidence.translate is None or not evidence.reverse:
        translated = evidence.translate([each.text for each in source]) if evidence.translate else None
        return Aligner(source, target, translated).align()
    beads = Aligner(target, source, evidence.translate([each.text for each in target])).align()
    return [Bead(each.target, each.source, each.score) for each in beads]


def read_sentences(document: Document, language: str) -> list[TextSentence]:
    """The sentences of a document; each segment is a paragraph."""
    return [each for segment in document.segments for each in _sentences(segment.text, language)]


def _sentences(text: str, language: str) -> Iterator[TextSentence]:
    parts = [" ".join(each.split()) for each in split_sentences(text, language)]
    parts = [each for each in parts if each]
    for number, each in enumerate(parts, start=1):
        yield TextSentence(each, number == len(parts))


def _join(sentences: Sequence[TextSentence], places: range) -> str:
    return " ".join(sentences[place].text for place in places)


def pair_corrected(
    source: Document, corrected: Document, languages: tuple[str, str], evidence: Evidence
) -> tuple[list[tuple[str, str]], int]:
    """Pairs for a memory from a document and its corrected translation, and the number of doubtful pairs left out.

    Where both have the same segments, they are paired as they are, and their sentences too if there are as many.
    """
    if len(source.segments) != len(corrected.segments):
        units = pair_documents(source, corrected, languages, evidence).units
        return [(each.source, each.target) for each in units if not each.low], sum(each.low for each in units)
    pairs: list[tuple[str, str]] = []
    for one, other in zip(source.segments, corrected.segments, strict=True):
        pairs.append((one.text, other.text))
        parts = [list(_sentences(each.text, code)) for each, code in zip((one, other), languages, strict=True)]
        if len(parts[0]) == len(parts[1]) > 1:
            pairs += [(each.text, twin.text) for each, twin in zip(*parts, strict=True)]
    return pairs, 0
