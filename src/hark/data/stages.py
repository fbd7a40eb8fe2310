"""Preparation stages that worker processes run on one chunk of pairs at a time: clean, learn, encode.

Between stages the kept pairs of a chunk are a text file of three lines per pair: line number in the corpus, source,
target.

The report of a dataset, made from one tally per training corpus.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hark.config import AugmentConfig, CleanConfig
from hark.data.augment import Augmenter
from hark.data.duplicates import pair_hash
from hark.data.filters import Cleaner
from hark.data.held_out import HeldOutLanguages
from hark.data.lexicon import short_pair
from hark.data.plan import Leads
from hark.data.report import (
    CorpusReport,
    DatasetReport,
    DirectionReport,
    HeldOutReport,
    SideReport,
    VocabularyUse,
)
from hark.data.store import Sentences, Side
from hark.data.swaps import find_names
from hark.data.tally import Counts, SideTally, Tally, add_all, add_padded, by_line
from hark.facts import LanguagePair
from hark.text.normalise import normalise
from hark.text.segment import Segmenter
from hark.text.tokenizer import train_symbols, train_tokenizer
from hark.text.trees import TREES
from hark.text.vocabulary import Vocabulary

DISTINCT_CHARACTERS = 6_000_000
"""Maximum total length of the distinct words that a vocabulary is learnt from. Half a million sentences of Europarl
have 3.3 million characters; in a script without spaces, where each clause is a word, this keeps learning under 700 MB
and 15 seconds."""


@dataclass(frozen=True)
class RawChunk:
    """Pairs as read from a corpus."""

    number: int  # over all corpora
    corpus: str
    directions: tuple[LanguagePair, ...]
    first_line: int
    pairs: list[tuple[str, str]]


@dataclass(frozen=True)
class CleanChunk:
    """The file of pairs kept from a chunk."""

    number: int
    corpus: str
    directions: tuple[LanguagePair, ...]
    """The languages of its text, and if it is used in both directions, the same reversed."""
    path: Path
    pairs: int

    @property
    def languages(self) -> LanguagePair:
        return self.directions[0]


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
        self, config: CleanConfig, held_out: HeldOutLanguages, tagged: bool, max_length: int, folder: Path
    ) -> None:
        self.config, self.held_out, self.tagged = config, held_out, tagged
        self.max_length, self.folder = max_length, folder
        self.cleaners: dict[LanguagePair, Cleaner] = {}

    def cleaner(self, languages: LanguagePair) -> Cleaner:
        if languages not in self.cleaners:
            self.cleaners[languages] = Cleaner(self.config, *languages, self.held_out.between(*languages))
        return self.cleaners[languages]

    def __call__(self, chunk: RawChunk) -> tuple[CleanChunk, list[bytes], Tally]:
        tally, rows, hashes = Tally(chunk.corpus, self.max_length), [], []
        clean, directions = self.cleaner(chunk.directions[0]), chunk.directions if self.tagged else ()
        for line, pair in enumerate(chunk.pairs, start=chunk.first_line):
            verdict = clean(*pair)
            if verdict.rule is not None:
                tally.drop(verdict.rule, line, verdict.source, verdict.target)
                continue
            rows.append(f"{line}\n{verdict.source}\n{verdict.target}\n")
            if self.config.duplicates:
                hashes.append(pair_hash(verdict.source, verdict.target, directions))
        path = self.folder / f"{chunk.number:06}"
        path.write_bytes("".join(rows).encode("utf-8"))
        return CleanChunk(chunk.number, chunk.corpus, chunk.directions, path, len(rows)), hashes, tally


@dataclass(frozen=True)
class Learn:
    """Learns a vocabulary from a seeded sample of the pairs of all chunks."""

    chunks: Sequence[UniqueChunk]
    shares: Mapping[LanguagePair, float]  # of the pairs, by their languages
    vocab_size: int
    languages: tuple[str, ...]
    seed: int

    def __call__(self, sides: Sequence[Side]) -> bytes:
        sentences = list(self.sample(sides))
        if sides == ("target",) and self.languages[1] == TREES:
            return train_symbols(sentences, self.languages)
        order = np.random.default_rng(self.seed).permutation(len(sentences))
        return train_tokenizer(
            until_full((sentences[i] for i in order), DISTINCT_CHARACTERS), self.vocab_size, self.languages
        )

    def sample(self, sides: Sequence[Side]) -> Iterator[str]:
        for unique in self.chunks:
            for source, target in unique.sample(self.shares[unique.chunk.languages], self.seed):
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


@dataclass(frozen=True)
class EncodedChunk:
    """A chunk encoded in one direction: the sentences of both sides for each segmentation, and their counts."""

    variants: list[tuple[Sentences, Sentences]]
    tally: Tally


class Encode:
    """Encodes a chunk without its duplicates, with augmented variants, in one or several segmentations.

    `leads` are the ids before each source and each target, by direction: language tags, or none.
    """

    def __init__(
        self,
        source: Vocabulary,
        target: Vocabulary,
        leads: Mapping[LanguagePair, Leads],
        augment: AugmentConfig,
        names: Sequence[str],
        words: Mapping[LanguagePair, Mapping[str, str]],
        dropout: float,
        variants: int,
        seed: int,
        max_length: int,
    ) -> None:
        self.leads, self.variants, self.max_length = leads, variants, max_length
        self.augment, self.names, self.words, self.seed = augment, names, words, seed
        self.dropout = dropout
        self.source = Segmenter(source, dropout, seed)
        self.target = self.source if source is target else Segmenter(target, dropout, seed)

    def __call__(self, unique: UniqueChunk) -> list[EncodedChunk]:
        """Return the chunk in each direction. The tally of the first also counts the duplicates."""
        lines, sources, targets, kept = unique.read()
        tally = Tally(unique.chunk.corpus, self.max_length)
        for i in unique.repeats:
            tally.drop("duplicates", lines[i], sources[i], targets[i])
        sources, targets = (
            [text for text, keep in zip(side, kept, strict=True) if keep] for side in (sources, targets)
        )
        number, languages = unique.chunk.number, unique.chunk.languages
        if len(unique.chunk.directions) == 1:
            return [self.encode(number, sources, targets, languages, tally)]
        # Without dropout, both directions have the same ids, since all languages share one vocabulary.
        ids = None if self.dropout else (self.source.encode(sources), self.source.encode(targets))
        reverse = Tally(unique.chunk.corpus, self.max_length)
        return [
            self.encode(number, sources, targets, languages, tally, "", ids),
            self.encode(number, targets, sources, languages[::-1], reverse, "reversed ", ids and ids[::-1]),
        ]

    def encode(
        self,
        number: int,
        sources: Sequence[str],
        targets: Sequence[str],
        languages: LanguagePair,
        tally: Tally,
        direction: str = "",
        known: tuple[list[list[int]], list[list[int]]] | None = None,
    ) -> EncodedChunk:
        """Encode one direction; `direction` names its own random streams, `known` are the ids of the given texts."""
        augmenter = Augmenter(self.augment, self.seed, self.names, self.words.get(languages), reverse=bool(direction))
        augmented = augmenter(number, sources, targets)
        n_known = len(sources) if known else 0
        sources, targets = [*sources, *augmented.sources], [*targets, *augmented.targets]
        leads = self.leads[languages]
        variants = []
        for variant in range(self.variants):
            source_ids = self.source.encode(sources[n_known:], f"{number} {variant} {direction}source")
            target_ids = self.target.encode(targets[n_known:], f"{number} {variant} {direction}target")
            if known:
                source_ids, target_ids = known[0] + source_ids, known[1] + target_ids
            if variant == 0:
                tally.keep(sources, targets, source_ids, target_ids, augmented.counts, tuple(map(len, leads)))
            sides = zip(leads, (source_ids, target_ids), strict=True)
            source, target = ([lead + ids for ids in side] if lead else side for lead, side in sides)
            variants.append((Sentences.pack(source), Sentences.pack(target)))
        return EncodedChunk(variants, tally)


@dataclass(frozen=True)
class Pieces:
    """Layout of a vocabulary: special tokens first, then the 256 bytes, then learnt pieces."""

    size: int
    specials: int
    bytes: int = 256

    @property
    def learnt_from(self) -> int:
        return self.specials + self.bytes


def make_report(
    source: str,
    target: str,
    clean: CleanConfig,
    tallies: Sequence[Tally],
    source_pieces: Pieces,
    target_pieces: Pieces,
    shared: bool,
    held_out: Sequence[HeldOutReport] = (),
    directions: Sequence[DirectionReport] = (),
    languages: Mapping[str, LanguagePair] | None = None,
) -> DatasetReport:
    """Build the report of a dataset from one tally per training corpus.

    `directions`, and `languages` by corpus, are those of a many-to-many dataset.
    """
    source_uses = add_all([each.source.uses for each in tallies])
    target_uses = add_all([each.target.uses for each in tallies])
    if shared:
        vocabularies: tuple[VocabularyUse, ...] = (
            measure_vocabulary("shared", add_padded(source_uses, target_uses), target_pieces),
        )
    else:
        vocabularies = (
            measure_vocabulary(source, source_uses, source_pieces),
            measure_vocabulary(target, target_uses, target_pieces),
        )
    return DatasetReport(
        source=source,
        target=target,
        clean={each.name: getattr(clean, each.name) for each in fields(clean)},
        max_length=tallies[0].max_length if tallies else 0,
        corpora=tuple(
            CorpusReport(
                name=each.corpus,
                kept=each.kept,
                dropped=dict(each.dropped),
                samples={rule: by_line(chosen) for rule, chosen in each.samples.items()},
                too_long=each.too_long,
                source=make_side(each.source, source_pieces),
                target=make_side(each.target, target_pieces),
                ratios=tuple(each.ratios.tolist()),
                augmented=dict(each.augmented),
                languages=(languages or {}).get(each.corpus),
            )
            for each in tallies
        ),
        held_out=tuple(held_out),
        vocabularies=vocabularies,
        directions=tuple(directions),
    )


def make_side(tally: SideTally, pieces: Pieces) -> SideReport:
    return SideReport(
        characters=tally.characters,
        tokens=int(tally.uses.sum()),
        byte_characters=count_byte_characters(tally.uses, pieces),
        lengths=tuple(np.trim_zeros(tally.lengths, "b").tolist()),
    )


def count_byte_characters(uses: Counts, pieces: Pieces) -> int:
    """Count the characters encoded as bytes: each UTF-8 character has one byte that is not a continuation byte."""
    bytes_used = uses[pieces.specials : pieces.learnt_from]
    return int(bytes_used[:0x80].sum() + bytes_used[0xC0:].sum())


def measure_vocabulary(name: str, uses: Counts, pieces: Pieces) -> VocabularyUse:
    learnt = uses[pieces.learnt_from :]
    return VocabularyUse(name, pieces.size, pieces.size - pieces.learnt_from, int(np.count_nonzero(learnt)))
