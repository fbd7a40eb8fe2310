"""Translates a document: each distinct segment once, by the model or from a translation memory."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hark.documents.formats import Document, Segment, SegmentKey, SegmentOutcome
from hark.documents.messages import find_placeholders, keeps_placeholders
from hark.translate.translation import Reason, Translation, in_order

if TYPE_CHECKING:
    from hark.documents.cache import SegmentCache  # it locks files, which not every system can
    from hark.documents.memory import Memory  # it reads TMX as hark.data does, which takes long to import

TranslateTexts = Callable[[list[str], bool], Iterator[Translation]]
"""Translates texts in order; the flag asks for word links, which take time."""


def sample(document: Document, characters: int) -> Iterator[str]:
    """Texts from the beginning of a document, each with a line end, to detect its language."""
    size = 0
    for each in document.segments:
        if size >= characters:
            break
        size += len(each.text)
        yield each.text + "\n"


@dataclass(frozen=True)
class TranslatedDocument:
    """The content of the translated file, and the outcome of each segment, in the order of the document."""

    content: bytes
    segments: tuple[Segment, ...]
    outcomes: tuple[SegmentOutcome, ...]


class DocumentJob:
    """The work on a document: which texts are still to be translated, and the outcomes of the others."""

    def __init__(
        self,
        document: Document,
        done: Mapping[SegmentKey, SegmentOutcome] | None = None,
        memory: "Memory | None" = None,
    ) -> None:
        """`done`: outcomes of an interrupted run."""
        self._document, self._memory = document, memory
        self.count = Counter((each.text, each.tagged) for each in document.segments)
        """The number of segments with each key."""
        self._outcomes: dict[SegmentKey, SegmentOutcome] = {}
        for key in self.count:
            if done and key in done:
                self._outcomes[key] = done[key]
            elif memory is not None and not key[1] and (text := memory.exact(key[0])) is not None:
                self._outcomes[key] = SegmentOutcome(text, origin="memory")

    def sample(self, characters: int) -> Iterator[str]:
        return sample(self._document, characters)

    @property
    def finished(self) -> int:
        """The number of segments that have an outcome."""
        return sum(self.count[key] for key in self._outcomes)

    def pending(self, tagged: bool) -> list[str]:
        """The texts still to be translated: of segments with tags, which need word links, or of those without."""
        return [text for text, has_tags in self.count if has_tags == tagged and (text, tagged) not in self._outcomes]

    def add(self, key: SegmentKey, translation: Translation) -> SegmentOutcome:
        """Take the model's translation of a text; what the memory knows replaces it."""
        outcome = SegmentOutcome.of_model(translation)
        if self._memory is not None:
            from hark.documents.memory import recall

            outcome = recall(self._memory, key, translation) or outcome
        self._outcomes[key] = outcome
        return outcome

    def finish(self) -> TranslatedDocument:
        """Write the document; every segment must have an outcome."""
        segments = tuple(self._document.segments)
        outcomes = tuple(flag_placeholders(each, self._outcomes[each.text, each.tagged]) for each in segments)
        return TranslatedDocument(self._document.write([each.placed for each in outcomes]), segments, outcomes)


def flag_placeholders(segment: Segment, outcome: SegmentOutcome) -> SegmentOutcome:
    """Flag the translation of a message that has other placeholders than its source: it is not written."""
    if not segment.message or keeps_placeholders(segment.text, outcome.text):
        return outcome
    if any(each.flag == "changed" for each in outcome.reasons):
        return outcome
    before, after = (Counter(find_placeholders(text)) for text in (segment.text, outcome.text))
    reason = Reason("changed", ", ".join(((before - after) + (after - before)).elements()))
    return replace(outcome, reasons=in_order([reason, *outcome.reasons]))


def translate_document(
    document: Document,
    translate: TranslateTexts,
    cache: "SegmentCache | None" = None,
    memory: "Memory | None" = None,
    advance: Callable[[int], object] = lambda _: None,
) -> TranslatedDocument:
    """Translate a document. `advance` is called with the number of segments that are finished since the last call."""
    job = DocumentJob(document, cache.done if cache else None, memory)
    advance(job.finished)
    for tagged in (False, True):
        texts = job.pending(tagged)
        for text, translation in zip(texts, translate(texts, tagged), strict=True):
            outcome = job.add((text, tagged), translation)
            if cache is not None:
                cache.add((text, tagged), outcome)
            advance(job.count[text, tagged])
    return job.finish()
