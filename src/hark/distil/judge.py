"""From the teacher's tokens to lines of text. What is faulty is left out: the corpus's own target stands instead."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from hark.data.dataset import Dataset
from hark.data.filters import is_garbled, is_identical
from hark.data.store import Sentences
from hark.data.tally import cut
from hark.decode.faults import FAULTS, Fault, find_faults
from hark.distil.answers import Chunk
from hark.text.normalise import normalise
from hark.text.vocabulary import Vocabulary

Reason = Literal[Fault, "long", "garbled", "copied"]
"""Why a translation is not used: a fault that any translation may have; the source is longer than what the teacher was
trained on; it has bytes that are no text; it is the source again."""
SAMPLES = 3
"""Faulty translations of each kind that are kept of a chunk, to be looked at."""


@dataclass(frozen=True)
class JudgedSample:
    """A translation that was not used."""

    reason: Reason
    source: str
    translation: str


@dataclass(frozen=True)
class Answers:
    """A chunk on its way to another process."""

    corpus: str
    first: int
    answers: Sentences
    asked: NDArray[np.bool_]
    complete: NDArray[np.bool_]

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        found = chunk.answers
        return cls(
            chunk.corpus,
            chunk.first,
            Sentences.pack([each.tokens if each else () for each in found]),
            np.array([each is not None for each in found], bool),
            np.array([each is not None and each.complete for each in found], bool),
        )


@dataclass(frozen=True)
class JudgedLines:
    """A chunk as text: line n of `target` is the translation of line n of `source`."""

    corpus: str
    pairs: int
    source: bytes
    target: bytes
    replaced: Counter[str]
    """Pairs that kept the target they had."""
    samples: tuple[JudgedSample, ...]


class Judge:
    """Looks through translations, a chunk at a time, beside the pairs of the dataset that they are of."""

    def __init__(self, folder: Path, reverse: bool, vocabulary: Vocabulary) -> None:
        """The dataset, and the vocabulary of the teacher's target side."""
        self.dataset = Dataset.open(folder, reverse)
        self.stores = {shard.name: self.dataset.store(shard) for shard in self.dataset.shards("train")}
        self.vocabulary = vocabulary

    def __call__(self, given: Answers) -> JudgedLines:
        store, answer_ids = self.stores[given.corpus], given.answers.unpack()
        rows = np.arange(given.first, given.first + len(answer_ids))
        source_ids = store.sentences(rows, "source")
        sources = self.dataset.tokenizer("source").decode(source_ids)
        targets = [normalise(text) for text in self.vocabulary.decode(answer_ids)]
        replaced: dict[int, Reason] = {}
        for i, pair in enumerate(zip(source_ids, answer_ids, sources, targets, given.complete.tolist(), strict=True)):
            reason = find_reason(*pair) if given.asked[i] else "long"
            if reason is not None:
                replaced[i] = reason
        samples = choose_samples(replaced, sources, targets)
        originals = store.sentences(rows[list(replaced)], "target")
        for i, text in zip(replaced, self.dataset.tokenizer("target").decode(originals), strict=True):
            targets[i] = text
        counts = Counter[str](replaced.values())
        return JudgedLines(given.corpus, len(sources), as_lines(sources), as_lines(targets), counts, samples)


def find_reason(
    source: Sequence[int], target: Sequence[int], source_text: str, target_text: str, complete: bool
) -> Reason | None:
    """Why a translation is not to be learnt from, if there is a reason."""
    faults = find_faults(source, target, source_text, target_text, complete)
    if faults:
        return next(each for each in FAULTS if each in faults)
    if is_garbled(target_text):
        return "garbled"
    return "copied" if is_identical(source_text, target_text) else None


def choose_samples(
    replaced: dict[int, Reason], sources: Sequence[str], targets: Sequence[str]
) -> tuple[JudgedSample, ...]:
    """The first few of each reason."""
    seen: Counter[Reason] = Counter()
    samples = []
    for i, reason in replaced.items():
        seen[reason] += 1
        if seen[reason] <= SAMPLES:
            samples.append(JudgedSample(reason, cut(sources[i]), cut(targets[i])))
    return tuple(samples)


def as_lines(texts: Sequence[str]) -> bytes:
    return "".join([text + "\n" for text in texts]).encode("utf-8")
