"""Preparation stages that worker processes run on one chunk of pairs at a time: clean and encode.

Between stages the kept pairs of a chunk are a text file of three lines per pair: line number in the corpus, source,
target.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hark.config import CleanConfig
from hark.data.augment import Augmenter
from hark.data.duplicates import pair_hash
from hark.data.filters import Cleaner
from hark.data.held_out import HeldOut
from hark.data.plan import PreparePlan, Tokenizers, lead_ids
from hark.data.store import Sentences
from hark.data.tally import Tally
from hark.facts import LanguagePair
from hark.text.segment import Segmenter


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
    """The file of pairs kept from a chunk, and which of them duplicate an earlier pair."""

    number: int
    corpus: str
    directions: tuple[LanguagePair, ...]
    """The languages of its text, and if it is used in both directions, the same reversed."""
    path: Path
    pairs: int
    repeats: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Positions of the duplicates in the chunk, once they are known."""

    @property
    def languages(self) -> LanguagePair:
        return self.directions[0]

    @property
    def n_unique(self) -> int:
        return self.pairs - len(self.repeats)

    def read(self) -> tuple[list[int], list[str], list[str], NDArray[np.bool_]]:
        """Return line numbers, sources, targets, and whether each pair is kept."""
        rows = self.path.read_bytes().decode("utf-8").split("\n")
        kept = np.ones(self.pairs, bool)
        kept[self.repeats] = False
        return [int(line) for line in rows[0:-1:3]], rows[1::3], rows[2::3], kept

    def sample(self, share: float, seed: int) -> Iterator[tuple[str, str]]:
        """Return a random share of the kept pairs."""
        _, sources, targets, kept = self.read()
        chosen = np.random.default_rng([seed, self.number]).random(len(kept)) < share
        return ((sources[i], targets[i]) for i in np.flatnonzero(kept & chosen))


class Clean:
    """Cleans a chunk: writes the kept pairs, counts the dropped ones, and hashes pairs to find duplicates.

    `held_out` are the sentences of dev and test sets by language, as `HeldOut` keeps them.
    """

    def __init__(
        self, config: CleanConfig, held_out: Mapping[str, set[bytes]], tagged: bool, max_length: int, folder: Path
    ) -> None:
        self.config, self.held_out, self.tagged = config, held_out, tagged
        self.max_length, self.folder = max_length, folder
        self.cleaners: dict[LanguagePair, Cleaner] = {}

    def cleaner(self, languages: LanguagePair) -> Cleaner:
        if languages not in self.cleaners:
            held_out = HeldOut(*(self.held_out.get(language, set()) for language in languages))
            self.cleaners[languages] = Cleaner(self.config, *languages, held_out)
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
class EncodedChunk:
    """A chunk encoded in one direction: the sentences of both sides for each segmentation, and their counts."""

    variants: list[tuple[Sentences, Sentences]]
    tally: Tally


class Encode:
    """Encodes a chunk without its duplicates, with augmented variants, in one or several segmentations."""

    def __init__(
        self,
        plan: PreparePlan,
        tokenizers: Tokenizers,
        names: Sequence[str],
        words: Mapping[LanguagePair, Mapping[str, str]],
    ) -> None:
        self.plan, self.data, self.tokenizers = plan, plan.data, tokenizers
        self.names, self.words = names, words
        source, target = tokenizers["source"], tokenizers["target"]
        self.source = Segmenter(source, self.data.bpe_dropout, self.data.seed)
        self.target = self.source if source is target else Segmenter(target, self.data.bpe_dropout, self.data.seed)

    def __call__(self, chunk: CleanChunk) -> list[EncodedChunk]:
        """Return the chunk in each direction. The tally of the first also counts the duplicates."""
        lines, sources, targets, kept = chunk.read()
        tally = Tally(chunk.corpus, self.plan.max_length)
        for i in chunk.repeats:
            tally.drop("duplicates", lines[i], sources[i], targets[i])
        sources, targets = (
            [text for text, keep in zip(side, kept, strict=True) if keep] for side in (sources, targets)
        )
        number, languages = chunk.number, chunk.languages
        if len(chunk.directions) == 1:
            return [self.encode(number, sources, targets, languages, tally)]
        # Without dropout, both directions have the same ids, since all languages share one vocabulary.
        ids = None if self.data.bpe_dropout else (self.source.encode(sources), self.source.encode(targets))
        reverse = Tally(chunk.corpus, self.plan.max_length)
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
        words = self.words.get(languages)
        augmenter = Augmenter(self.data.augment, self.data.seed, self.names, words, reverse=bool(direction))
        augmented = augmenter(number, sources, targets)
        n_known = len(sources) if known else 0
        sources, targets = [*sources, *augmented.sources], [*targets, *augmented.targets]
        leads = lead_ids(self.data.tag_kind, self.tokenizers, languages)
        variants = []
        for variant in range(self.plan.variants):
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
