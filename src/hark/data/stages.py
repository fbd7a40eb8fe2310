"""Preparation stages that worker processes run on one chunk of pairs at a time: clean, learn, encode.

Between stages the kept pairs of a chunk are a text file of three lines per pair: line number in the corpus, source,
target.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hark.config import AugmentConfig, CleanConfig
from hark.data.augment import Augmenter
from hark.data.duplicates import pair_hash
from hark.data.filters import Cleaner, HeldOut
from hark.data.lexicon import short_pair
from hark.data.store import Sentences, Side
from hark.data.swaps import find_names
from hark.data.tally import Tally
from hark.text.normalise import normalise
from hark.text.segment import Segmenter
from hark.text.tokenizer import Tokenizer, train_tokenizer

DISTINCT_CHARACTERS = 6_000_000
"""Maximum total length of the distinct words that a vocabulary is learnt from. Half a million sentences of Europarl
have 3.3 million characters; in a script without spaces, where each clause is a word, this keeps learning under 700 MB
and 15 seconds."""


@dataclass(frozen=True)
class RawChunk:
    """Pairs as read from a corpus."""

    number: int  # over all corpora
    corpus: str
    first_line: int
    pairs: list[tuple[str, str]]


@dataclass(frozen=True)
class CleanChunk:
    """The file of pairs kept from a chunk."""

    number: int
    corpus: str
    path: Path
    pairs: int


@dataclass(frozen=True)
class UniqueChunk:
    """A clean chunk, and which of its pairs duplicate an earlier pair."""

    chunk: CleanChunk
    repeats: NDArray[np.int64]  # positions in the chunk

    @property
    def left(self) -> int:
        return self.chunk.pairs - len(self.repeats)

    def read(self) -> tuple[list[int], list[str], list[str], NDArray[np.bool_]]:
        """Return line numbers, sources, targets, and whether each pair is kept."""
        rows = self.chunk.path.read_bytes().decode("utf-8").split("\n")
        kept = np.ones(self.chunk.pairs, bool)
        kept[self.repeats] = False
        return [int(line) for line in rows[0:-1:3]], rows[1::3], rows[2::3], kept

    def sample(self, share: float, seed: int) -> Iterator[tuple[str, str]]:
        """Return a random share of the kept pairs."""
        _, sources, targets, kept = self.read()
        chosen = np.random.default_rng([seed, self.chunk.number]).random(len(kept)) < share
        return ((sources[i], targets[i]) for i in np.flatnonzero(kept & chosen))


class Clean:
    """Cleans a chunk: writes the kept pairs, counts the dropped ones, and hashes pairs to find duplicates."""

    def __init__(
        self, config: CleanConfig, source: str, target: str, held_out: HeldOut, max_length: int, folder: Path
    ) -> None:
        self.cleaner = Cleaner(config, source, target, held_out)
        self.max_length, self.folder = max_length, folder
        self.duplicates = config.duplicates

    def __call__(self, chunk: RawChunk) -> tuple[CleanChunk, list[bytes], Tally]:
        tally, rows, hashes = Tally(chunk.corpus, self.max_length), [], []
        for line, pair in enumerate(chunk.pairs, start=chunk.first_line):
            verdict = self.cleaner(*pair)
            if verdict.rule is not None:
                tally.drop(verdict.rule, line, verdict.source, verdict.target)
                continue
            rows.append(f"{line}\n{verdict.source}\n{verdict.target}\n")
            if self.duplicates:
                hashes.append(pair_hash(verdict.source, verdict.target))
        path = self.folder / f"{chunk.number:06}"
        path.write_bytes("".join(rows).encode("utf-8"))
        return CleanChunk(chunk.number, chunk.corpus, path, len(rows)), hashes, tally


@dataclass(frozen=True)
class Learn:
    """Learns a vocabulary from a seeded sample of the pairs of all chunks."""

    chunks: Sequence[UniqueChunk]
    share: float
    vocab_size: int
    languages: tuple[str, str]
    seed: int

    def __call__(self, sides: Sequence[Side]) -> bytes:
        sentences = list(self.sample(sides))
        order = np.random.default_rng(self.seed).permutation(len(sentences))
        return train_tokenizer(
            until_full((sentences[i] for i in order), DISTINCT_CHARACTERS), self.vocab_size, self.languages
        )

    def sample(self, sides: Sequence[Side]) -> Iterator[str]:
        for unique in self.chunks:
            for source, target in unique.sample(self.share, self.seed):
                if "source" in sides:
                    yield normalise(source)
                if "target" in sides:
                    yield normalise(target)


def until_full(sentences: Iterable[str], room: int) -> Iterator[str]:
    """Yield sentences until their distinct words add up to `room` characters."""
    words: set[str] = set()
    for sentence in sentences:
        new = set(sentence.split()) - words
        room -= sum(map(len, new))
        if room < 0 and words:
            return
        words |= new
        yield sentence


class FindNames:
    """Counts names in a sample of a chunk."""

    def __init__(self, share: float, seed: int) -> None:
        self.share, self.seed = share, seed

    def __call__(self, unique: UniqueChunk) -> Counter[str]:
        return find_names(unique.sample(self.share, self.seed))


class FindShort:
    """Finds short pairs in a sample of a chunk."""

    def __init__(self, share: float, seed: int) -> None:
        self.share, self.seed = share, seed

    def __call__(self, unique: UniqueChunk) -> list[tuple[str, str]]:
        return [pair for pair in unique.sample(self.share, self.seed) if short_pair(*pair)]


class Encode:
    """Encodes a chunk without its duplicates, with augmented variants, in one or several segmentations."""

    def __init__(
        self,
        source: bytes,
        target: bytes,
        augment: AugmentConfig,
        names: Sequence[str],
        words: Mapping[str, str],
        dropout: float,
        variants: int,
        seed: int,
        max_length: int,
    ) -> None:
        self.variants, self.max_length = variants, max_length
        self.augmenter = Augmenter(augment, seed, names, words)
        self.source = Segmenter(Tokenizer(source), dropout, seed)
        self.target = self.source if source == target else Segmenter(Tokenizer(target), dropout, seed)

    def __call__(self, unique: UniqueChunk) -> tuple[list[tuple[Sentences, Sentences]], Tally]:
        """Return the sentences of both sides for each segmentation; the tally counts the first."""
        number, tally = unique.chunk.number, Tally(unique.chunk.corpus, self.max_length)
        lines, sources, targets, kept = unique.read()
        for i in unique.repeats:
            tally.drop("duplicates", lines[i], sources[i], targets[i])
        sources, targets = (
            [text for text, keep in zip(side, kept, strict=True) if keep] for side in (sources, targets)
        )
        augmented = self.augmenter(number, sources, targets)
        sources, targets = sources + augmented.sources, targets + augmented.targets
        variants = []
        for variant in range(self.variants):
            source_ids = self.source.encode(sources, f"{number} {variant} source")
            target_ids = self.target.encode(targets, f"{number} {variant} target")
            if variant == 0:
                tally.keep(sources, targets, source_ids, target_ids, augmented.counts)
            variants.append((Sentences.pack(source_ids), Sentences.pack(target_ids)))
        return variants, tally
