"""Counts of kept and dropped pairs, collected while a corpus is cleaned and encoded.

Each worker fills a `Tally`. Merging the tallies of a corpus gives the same result however it was split, in any order.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from hark.data.filters import RULES

SAMPLES = 10
SAMPLE_CHARS = 300
MAX_COUNTED_LENGTH = 1024  # longer sentences count as this many tokens
OCTAVES, STEPS = 3, 8  # ratios from 1/8 to 8, eight bars per doubling, one of them centred on 1

Counts = npt.NDArray[np.int64]
Ids = Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True)
class DroppedPair:
    """A pair that a rule dropped; long text is truncated."""

    corpus: str
    line: int  # line number in the corpus file, from 1
    source: str
    target: str


@dataclass
class SideTally:
    """Additive counts of one language of the kept pairs."""

    characters: int = 0
    lengths: Counts = field(default_factory=lambda: np.zeros(MAX_COUNTED_LENGTH + 1, np.int64))
    uses: Counts = field(default_factory=lambda: np.zeros(0, np.int64))  # by token id

    def keep(self, texts: Sequence[str], ids: Sequence[Ids]) -> Counts:
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        self.characters += sum(map(len, texts))
        self.lengths += np.bincount(np.minimum(lengths, MAX_COUNTED_LENGTH), minlength=MAX_COUNTED_LENGTH + 1)
        flat = np.fromiter(chain.from_iterable(ids), np.int64, int(lengths.sum()))
        self.uses = add_padded(self.uses, np.bincount(flat))
        return lengths

    def merge(self, other: "SideTally") -> None:
        self.characters += other.characters
        self.lengths = self.lengths + other.lengths
        self.uses = add_padded(self.uses, other.uses)


class Tally:
    """Counts of one corpus, or part of it; each pair is either kept or dropped once."""

    def __init__(self, corpus: str, max_length: int) -> None:
        self.corpus, self.max_length = corpus, max_length
        self.kept = self.too_long = 0
        self.augmented: Counter[str] = Counter()
        self.dropped = dict.fromkeys(RULES, 0)
        self.samples: dict[str, tuple[DroppedPair, ...]] = dict.fromkeys(RULES, ())
        self.source, self.target = SideTally(), SideTally()
        self.ratios: Counts = np.zeros(len(ratio_edges()) - 1, np.int64)

    def drop(self, rule: str, line: int, source: str, target: str) -> None:
        """Count a pair that `rule` dropped, and keep it if it is in the sample for the report."""
        self.dropped[rule] += 1
        chosen = self.samples[rule]
        if len(chosen) < SAMPLES or chance(self.corpus, line) < chance(self.corpus, chosen[-1].line):
            self.samples[rule] = choose([*chosen, DroppedPair(self.corpus, line, cut(source), cut(target))])

    def keep(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        source_ids: Sequence[Ids],
        target_ids: Sequence[Ids],
        augmented: Mapping[str, int] | None = None,
        leads: Sequence[int] = (0, 0),
    ) -> None:
        """Count kept pairs, given as text and token ids; `augmented` counts the variants among them.

        In the dataset, `leads` more ids come before each source and each target: language tags."""
        self.augmented.update(augmented or {})
        self.kept += len(sources) - sum((augmented or {}).values())
        source_lengths = self.source.keep(sources, source_ids)
        target_lengths = self.target.keep(targets, target_ids)
        # EOS takes one more slot in a batch.
        slots = np.maximum(source_lengths + leads[0], target_lengths + leads[1]) + 1
        self.too_long += int(np.count_nonzero(slots > self.max_length))
        ratios = np.maximum(target_lengths, 1) / np.maximum(source_lengths, 1)
        edges = np.array(ratio_edges())
        self.ratios += np.histogram(np.clip(ratios, edges[0], edges[-1]), edges)[0]

    def merge(self, other: "Tally") -> None:
        """Add the counts of another part of the same corpus."""
        self.kept += other.kept
        self.augmented.update(other.augmented)
        self.too_long += other.too_long
        for rule in RULES:
            self.dropped[rule] += other.dropped[rule]
            self.samples[rule] = choose([*self.samples[rule], *other.samples[rule]])
        self.source.merge(other.source)
        self.target.merge(other.target)
        self.ratios = self.ratios + other.ratios


def ratio_edges() -> list[float]:
    """Return the bin edges of the ratio histogram; the first and last bins also take all values beyond them."""
    return [2 ** ((step - 0.5) / STEPS) for step in range(-OCTAVES * STEPS, OCTAVES * STEPS + 2)]


def chance(corpus: str, line: int) -> bytes:
    """Return a pseudo-random sort key for a line, the same in every run and process."""
    return hashlib.blake2b(f"{corpus} {line}".encode("utf-8", "replace"), digest_size=8).digest()


def choose(samples: Sequence[DroppedPair]) -> tuple[DroppedPair, ...]:
    """Choose the samples a report shows: spread over the whole corpus, independent of how it was split."""
    return tuple(sorted(samples, key=lambda pair: (chance(pair.corpus, pair.line), pair.corpus, pair.line))[:SAMPLES])


def by_line(samples: Sequence[DroppedPair]) -> tuple[DroppedPair, ...]:
    return tuple(sorted(samples, key=lambda pair: (pair.corpus, pair.line)))


def cut(text: str) -> str:
    """Truncate text for display, and escape lone surrogates, which UTF-8 cannot encode."""
    short = text if len(text) <= SAMPLE_CHARS else text[: SAMPLE_CHARS - 1] + "…"
    return short.encode("utf-8", "backslashreplace").decode("utf-8")


def add_padded(*rows: Sequence[int] | Counts) -> Counts:
    """Add rows of counts of possibly different length."""
    total = np.zeros(max(map(len, rows), default=0), np.int64)
    for row in rows:
        total[: len(row)] += np.asarray(row, np.int64)
    return total
