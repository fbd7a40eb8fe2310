"""Translation of a corpus in chunks by the teacher's engine, and filtering: the corpus's own targets replace faulty
translations."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from hark.data.dataset import Dataset
from hark.data.filters import is_garbled, is_identical
from hark.data.store import Sentences
from hark.data.tally import cut
from hark.engine.interface import Engine, Hypothesis, Request
from hark.facts import LanguagePair
from hark.text.vocabulary import Vocabulary, normalise
from hark.translate.readings import find_faults
from hark.translate.translation import FAULTS, Fault


@dataclass(eq=False)
class Chunk:
    """Consecutive pairs of a corpus, from `first`; `answers` are filled in any order."""

    corpus: str
    first: int
    sources: Sequence[Sequence[int]]
    """In the teacher's tokens, without tag and EOS."""
    languages: LanguagePair
    answers: list[Hypothesis | None] = field(init=False)
    """The teacher's translations; None for a source that is too long."""
    missing: int = 0

    def __post_init__(self) -> None:
        self.answers = [None] * len(self.sources)


RequestMaker = Callable[[Sequence[int], LanguagePair], Request | None]
"""Makes a request of a source in the teacher's tokens; None if the source is too long."""


def translate(engine: Engine, chunks: Iterable[Chunk], make: RequestMaker) -> Iterator[Chunk]:
    """Translate chunks; yield them in order, with as few in flight as the engine has room for."""
    in_flight: deque[Chunk] = deque()
    places: dict[int, tuple[Chunk, int]] = {}

    def requests() -> Iterator[Request]:
        numbers = count()
        for chunk in chunks:
            made = [(place, make(source, chunk.languages)) for place, source in enumerate(chunk.sources)]
            wanted = [(place, request) for place, request in made if request is not None]
            chunk.missing = len(wanted)
            in_flight.append(chunk)
            for place, request in wanted:
                places[next(numbers)] = chunk, place
                yield request

    for number, hypotheses in engine.run(requests()):
        chunk, place = places.pop(number)
        chunk.answers[place] = hypotheses[0]
        chunk.missing -= 1
        while in_flight and not in_flight[0].missing:
            yield in_flight.popleft()
    yield from in_flight


RejectReason = Literal[Fault, "long", "garbled", "copied"]
"""Why a translation is rejected: a fault of any translation; `long`: the source is longer than in the teacher's
training; `garbled`: invalid bytes; `copied`: identical to the source."""
CHUNK_SAMPLES = 3
"""Rejected translations to keep per reason and chunk, for the report."""


@dataclass(frozen=True)
class RejectedSample:
    """A translation that was rejected."""

    reason: RejectReason
    source: str
    translation: str


@dataclass(frozen=True)
class PackedChunk:
    """A chunk in a form that is cheap to send to another process."""

    corpus: str
    first: int
    answers: Sentences
    requested: NDArray[np.bool_]
    complete: NDArray[np.bool_]

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        answers = chunk.answers
        return cls(
            chunk.corpus,
            chunk.first,
            Sentences.pack([answer.tokens if answer else () for answer in answers]),
            np.array([answer is not None for answer in answers], bool),
            np.array([answer is not None and answer.complete for answer in answers], bool),
        )


@dataclass(frozen=True)
class FilteredLines:
    """A chunk as text: line n of `target` is the translation of line n of `source`."""

    corpus: str
    pairs: int
    source: bytes
    target: bytes
    replaced: Counter[str]
    """Pairs that kept their original target, by reason."""
    samples: tuple[RejectedSample, ...]


class TranslationFilter:
    """Detokenises and filters the translations of a dataset by chunks."""

    def __init__(self, folder: Path, reverse: bool, vocabulary: Vocabulary) -> None:
        """`folder` is the dataset's; `vocabulary` is that of the teacher's target side."""
        self.dataset = Dataset.open(folder, reverse)
        self.shards = {shard.name: shard for shard in self.dataset.shards("train")}
        self.vocabulary = vocabulary

    def __call__(self, chunk: PackedChunk) -> FilteredLines:
        shard, answer_ids = self.shards[chunk.corpus], chunk.answers.unpack()
        store = self.dataset.store(shard)
        rows = np.arange(chunk.first, chunk.first + len(answer_ids))
        source_ids = [ids[shard.lead :] for ids in store.sentences(rows, "source")]
        sources = self.dataset.tokenizer("source").decode(source_ids)
        targets = [normalise(text) for text in self.vocabulary.decode(answer_ids)]
        replaced: dict[int, RejectReason] = {}
        for i, pair in enumerate(zip(source_ids, answer_ids, sources, targets, chunk.complete.tolist(), strict=True)):
            if reason := find_reason(*pair) if chunk.requested[i] else "long":
                replaced[i] = reason
        rejected = (RejectedSample(reason, cut(sources[i]), cut(targets[i])) for i, reason in replaced.items())
        samples = first_of_each(rejected, CHUNK_SAMPLES)
        originals = store.sentences(rows[list(replaced)], "target")
        for i, text in zip(replaced, self.dataset.tokenizer("target").decode(originals), strict=True):
            targets[i] = text
        counts = Counter[str](replaced.values())
        return FilteredLines(chunk.corpus, len(sources), as_lines(sources), as_lines(targets), counts, samples)


def find_reason(
    source: Sequence[int], target: Sequence[int], source_text: str, target_text: str, complete: bool
) -> RejectReason | None:
    """The reason to reject a translation, or None."""
    if faults := find_faults(source, target, source_text, target_text, complete):
        return next(fault for fault in FAULTS if fault in faults)
    if is_garbled(target_text):
        return "garbled"
    return "copied" if is_identical(source_text, target_text) else None


def first_of_each(samples: Iterable[RejectedSample], most: int) -> tuple[RejectedSample, ...]:
    """The first samples of each reason, at most so many."""
    seen: Counter[RejectReason] = Counter()
    kept = []
    for sample in samples:
        seen[sample.reason] += 1
        if seen[sample.reason] <= most:
            kept.append(sample)
    return tuple(kept)


def as_lines(texts: Sequence[str]) -> bytes:
    return "".join([text + "\n" for text in texts]).encode("utf-8")
