"""Translation memory: translations that people approved, reused where the same text occurs again."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from hark.documents.messages import keeps_placeholders
from hark.documents.outcome import SegmentKey, SegmentOutcome
from hark.documents.similar_texts import SimilarTexts
from hark.translate.align import Link, word_spans
from hark.translate.translation import Sentence, Translation, shift


@dataclass(frozen=True)
class FuzzyMatch:
    """A unit of the memory whose source is similar to a text."""

    source: str
    target: str
    similarity: float


class Memory:
    """The units of a memory for one pair of languages."""

    def __init__(self, find: Callable[[str], str | None], sources: Callable[[], Iterable[str]]) -> None:
        """`find` returns the translation of a source text, `sources` all source texts."""
        self._find, self._sources = find, sources

    def exact(self, text: str) -> str | None:
        """The translation of this very text; white space around it does not matter, and is kept.

        A translation without the placeholders of the source is not used.
        """
        core = text.strip()
        target = self._find(core) if core else None
        if target is None or not keeps_placeholders(core, target):
            return None
        start = len(text) - len(text.lstrip())
        return text[:start] + target.strip() + text[start + len(core) :]

    def similar(self, text: str) -> FuzzyMatch | None:
        """The unit whose source is most similar to a text, if similar enough; not the text itself."""
        core = text.strip()
        found = self._index.find(core)
        if found is None or found[0] == core or (target := self._find(found[0])) is None:
            return None
        return FuzzyMatch(found[0], target, round(found[1], 3))

    @cached_property
    def _index(self) -> SimilarTexts:
        return SimilarTexts(self._sources())


def recall(memory: Memory, key: SegmentKey, translation: Translation) -> SegmentOutcome | None:
    """The outcome of a segment that the model has translated and the memory knows, as a whole or some sentences of it.

    The word links of the model's translation are carried over, because they place the tags.
    """
    if (whole := memory.exact(key[0])) is not None:
        return SegmentOutcome(whole, carry_links(translation.links, translation.text, whole), "memory")
    sentences = translation.sentences
    known = [memory.exact(each.source) for each in sentences]
    wrapped = translation.layout.join([each.text for each in sentences]) != translation.text
    if wrapped or not any(each is not None for each in known):
        return None
    texts = [each.text if text is None else text for each, text in zip(sentences, known, strict=True)]
    rest = [each for each, text in zip(sentences, known, strict=True) if text is None]
    return SegmentOutcome(
        translation.layout.join(texts),
        tuple(_links(translation, texts)),
        "model" if rest else "memory",
        Translation("", "", tuple(rest), translation.layout).reasons,
    )


def _links(translation: Translation, texts: Sequence[str]) -> Iterable[Link]:
    gaps = translation.layout.around(texts)
    start = len(gaps[0])
    for sentence, text, gap in zip(translation.sentences, texts, gaps[1:], strict=True):
        for each in _carried(sentence, text):
            yield Link(shift(each.source, sentence.source_start), shift(each.target, start), each.weight)
        start += len(text) + len(gap)


def _carried(sentence: Sentence, text: str) -> Sequence[Link]:
    return sentence.links if text == sentence.text else carry_links(sentence.links, sentence.text, text)


def carry_links(links: Sequence[Link], text: str, other: str) -> tuple[Link, ...]:
    """Word links of another translation of the same source: words in common keep theirs, those between are estimated
    by position."""
    by_target: dict[tuple[int, int], list[Link]] = {}
    for each in links:
        by_target.setdefault(each.target, []).append(each)
    before, after = word_spans(text), word_spans(other)
    matcher = SequenceMatcher(None, [text[slice(*span)] for span in before], [other[slice(*span)] for span in after])
    carried: list[Link] = []
    for _, start, end, other_start, other_end in matcher.get_opcodes():
        for place in range(other_start, other_end if end > start else other_start):
            origin = start + (place - other_start) * (end - start) // (other_end - other_start)
            carried += [Link(each.source, after[place], each.weight) for each in by_target.get(before[origin], ())]
    return tuple(carried)
