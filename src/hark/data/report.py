"""Statistics of a prepared dataset: a `DatasetReport`, saved as report.json.

The parts of a dataset's report that describe its shards: dev and test sets, and directions.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from hark.data.filters import RULES
from hark.data.manifest import Role, Shard
from hark.data.tally import DroppedPair, add_all, by_line, choose
from hark.facts import LanguagePair

FORMAT = 1


@dataclass(frozen=True)
class VocabularyUse:
    """Share of a vocabulary that the training text uses, not counting special tokens and bytes."""

    name: str  # "shared", or the language
    size: int
    learnt: int
    used: int

    @property
    def share(self) -> float:
        return self.used / self.learnt if self.learnt else 0.0


@dataclass(frozen=True)
class SideReport:
    """Statistics of one language of the kept pairs."""

    characters: int = 0
    tokens: int = 0
    byte_characters: int = 0  # characters missing from the vocabulary, and so encoded as bytes
    lengths: tuple[int, ...] = ()  # number of sentences with 0, 1, 2, ... tokens

    @property
    def characters_per_token(self) -> float:
        return self.characters / self.tokens if self.tokens else 0.0

    @property
    def whole(self) -> float:
        """The share of characters encoded in learnt pieces."""
        return 1 - self.byte_characters / self.characters if self.characters else 1.0

    @property
    def mean_length(self) -> float:
        return self.tokens / sum(self.lengths) if self.tokens else 0.0

    def percentile(self, share: float) -> int:
        """The length in tokens that this share of sentences does not exceed."""
        if not self.lengths:
            return 0
        total = np.cumsum(self.lengths)
        return int(np.searchsorted(total, share * total[-1]))


@dataclass(frozen=True)
class CorpusReport:
    """Statistics of one training corpus: pairs kept and dropped, lengths, token counts."""

    name: str
    kept: int
    dropped: dict[str, int]  # by rule; has every rule
    samples: dict[str, tuple[DroppedPair, ...]]
    too_long: int  # kept, but skipped in training: a side has more than max_length tokens, EOS included
    source: SideReport
    target: SideReport
    ratios: tuple[int, ...]  # pairs by target tokens over source tokens; see `ratio_edges`
    augmented: dict[str, int] = field(default_factory=dict)  # augmented variants of kept pairs, by kind
    languages: LanguagePair | None = None  # in a many-to-many dataset

    @property
    def read(self) -> int:
        return self.kept + sum(self.dropped.values())


@dataclass(frozen=True)
class HeldOutReport:
    """Statistics of a dev or test set."""

    name: str
    role: str
    pairs: int
    directions: int = 1


@dataclass(frozen=True)
class DirectionReport:
    """The training text of one direction of a many-to-many dataset, with augmented variants and language tags."""

    source: str
    target: str
    pairs: int
    source_tokens: int
    target_tokens: int


@dataclass(frozen=True)
class DatasetReport:
    """Statistics of a prepared dataset."""

    source: str
    target: str
    """The languages; both are empty in a many-to-many dataset."""
    clean: dict[str, bool | int | float]
    max_length: int
    corpora: tuple[CorpusReport, ...]
    held_out: tuple[HeldOutReport, ...]
    vocabularies: tuple[VocabularyUse, ...]
    directions: tuple[DirectionReport, ...] = ()
    """Of a many-to-many dataset."""

    @property
    def languages(self) -> dict[str, SideReport]:
        """The kept text of each language."""
        if not self.directions:
            return {self.source: self.total.source, self.target: self.total.target}
        sides: dict[str, list[SideReport]] = {}
        for corpus in self.corpora:
            for code, side in zip(corpus.languages or (), (corpus.source, corpus.target), strict=True):
                sides.setdefault(code, []).append(side)
        return {code: add_sides(sides[code]) for code in sorted(sides)}

    @property
    def total(self) -> CorpusReport:
        """All training corpora combined."""
        return CorpusReport(
            name="all",
            kept=sum(each.kept for each in self.corpora),
            dropped={rule: sum(each.dropped.get(rule, 0) for each in self.corpora) for rule in RULES},
            samples={
                rule: by_line(choose([sample for each in self.corpora for sample in each.samples.get(rule, ())]))
                for rule in RULES
            },
            too_long=sum(each.too_long for each in self.corpora),
            source=add_sides([each.source for each in self.corpora]),
            target=add_sides([each.target for each in self.corpora]),
            ratios=add_counts([each.ratios for each in self.corpora]),
            augmented=dict(sum((Counter(each.augmented) for each in self.corpora), Counter[str]())),
        )

    def to_json(self) -> str:
        total = self.total
        summary = {
            "read": total.read,
            "kept": total.kept,
            "dropped": total.dropped,
            "too_long": total.too_long,
            "augmented": total.augmented,
            "characters_per_token": {
                code: round(side.characters_per_token, 4) for code, side in self.languages.items()
            },
            "whole_pieces": {code: round(side.whole, 6) for code, side in self.languages.items()},
        }
        tree = asdict(self)
        if not self.directions:  # keys of many-to-many datasets only
            del tree["directions"]
            for each in tree["corpora"]:
                del each["languages"]
            for each in tree["held_out"]:
                del each["directions"]
        return json.dumps({"format": FORMAT, "summary": summary, **tree}, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        tree = json.loads(text)
        return cls(
            source=tree["source"],
            target=tree["target"],
            clean=tree["clean"],
            max_length=tree["max_length"],
            corpora=tuple(corpus_from_tree(each) for each in tree["corpora"]),
            held_out=tuple(HeldOutReport(**each) for each in tree["held_out"]),
            vocabularies=tuple(VocabularyUse(**each) for each in tree["vocabularies"]),
            directions=tuple(DirectionReport(**each) for each in tree.get("directions", ())),
        )


def add_counts(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(add_all([np.asarray(row, np.int64) for row in rows]).tolist())


def add_sides(sides: Sequence[SideReport]) -> SideReport:
    return SideReport(
        characters=sum(each.characters for each in sides),
        tokens=sum(each.tokens for each in sides),
        byte_characters=sum(each.byte_characters for each in sides),
        lengths=add_counts([each.lengths for each in sides]),
    )


def corpus_from_tree(tree: Mapping[str, Any]) -> CorpusReport:
    return CorpusReport(
        name=tree["name"],
        kept=tree["kept"],
        dropped=tree["dropped"],
        samples={rule: tuple(DroppedPair(**each) for each in chosen) for rule, chosen in tree["samples"].items()},
        too_long=tree["too_long"],
        source=side_from_tree(tree["source"]),
        target=side_from_tree(tree["target"]),
        ratios=tuple(tree["ratios"]),
        augmented=tree.get("augmented", {}),  # absent in older reports
        languages=(tree["languages"][0], tree["languages"][1]) if tree.get("languages") else None,
    )


def side_from_tree(tree: Mapping[str, Any]) -> SideReport:
    return SideReport(**{**tree, "lengths": tuple(tree["lengths"])})


def report_held_out(shards: Sequence[Shard]) -> list[HeldOutReport]:
    """Describe the dev and test sets; a set in several directions is one."""
    sets: dict[tuple[Role, str], list[Shard]] = {}
    for shard in shards:
        if shard.role != "train":
            sets.setdefault((shard.role, shard.corpus), []).append(shard)
    return [HeldOutReport(name, role, sum(each.pairs for each in of), len(of)) for (role, name), of in sets.items()]


def report_directions(shards: Sequence[Shard]) -> list[DirectionReport]:
    """Describe the training text of a many-to-many dataset by direction."""
    directions: dict[LanguagePair, list[Shard]] = {}
    for shard in shards:
        if shard.languages and shard.role == "train":
            directions.setdefault(shard.languages, []).append(shard)
    return [
        DirectionReport(
            *pair,
            sum(each.pairs for each in of),
            sum(each.source_tokens for each in of),
            sum(each.target_tokens for each in of),
        )
        for pair, of in sorted(directions.items())
    ]
