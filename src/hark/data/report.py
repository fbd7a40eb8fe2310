"""Statistics of a prepared dataset: a `DatasetReport`, saved as report.json."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from hark.data.filters import RULES
from hark.data.tally import DroppedPair, add_padded, by_line, choose
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
            total = self.total
            if self.source == self.target:
                return {self.source: add_sides([total.source, total.target])}
            return {self.source: total.source, self.target: total.target}
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
            kept=sum(corpus.kept for corpus in self.corpora),
            dropped={rule: sum(corpus.dropped.get(rule, 0) for corpus in self.corpora) for rule in RULES},
            samples={
                rule: by_line(choose([pair for corpus in self.corpora for pair in corpus.samples.get(rule, ())]))
                for rule in RULES
            },
            too_long=sum(corpus.too_long for corpus in self.corpora),
            source=add_sides([corpus.source for corpus in self.corpora]),
            target=add_sides([corpus.target for corpus in self.corpora]),
            ratios=add_counts([corpus.ratios for corpus in self.corpora]),
            augmented=dict(sum((Counter(corpus.augmented) for corpus in self.corpora), Counter[str]())),
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
            for corpus in tree["corpora"]:
                del corpus["languages"]
            for held_out in tree["held_out"]:
                del held_out["directions"]
        return json.dumps({"format": FORMAT, "summary": summary, **tree}, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        tree = json.loads(text)
        return cls(
            source=tree["source"],
            target=tree["target"],
            clean=tree["clean"],
            max_length=tree["max_length"],
            corpora=tuple(map(corpus_from_tree, tree["corpora"])),
            held_out=tuple(HeldOutReport(**values) for values in tree["held_out"]),
            vocabularies=tuple(VocabularyUse(**values) for values in tree["vocabularies"]),
            directions=tuple(DirectionReport(**values) for values in tree.get("directions", ())),
        )


def add_counts(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(add_padded(*rows).tolist())


def add_sides(sides: Sequence[SideReport]) -> SideReport:
    return SideReport(
        characters=sum(side.characters for side in sides),
        tokens=sum(side.tokens for side in sides),
        byte_characters=sum(side.byte_characters for side in sides),
        lengths=add_counts([side.lengths for side in sides]),
    )


def corpus_from_tree(tree: Mapping[str, Any]) -> CorpusReport:
    source, target = (
        SideReport(**{**side, "lengths": tuple(side["lengths"])}) for side in (tree["source"], tree["target"])
    )
    return CorpusReport(
        name=tree["name"],
        kept=tree["kept"],
        dropped=tree["dropped"],
        samples={rule: tuple(DroppedPair(**pair) for pair in chosen) for rule, chosen in tree["samples"].items()},
        too_long=tree["too_long"],
        source=source,
        target=target,
        ratios=tuple(tree["ratios"]),
        augmented=tree.get("augmented", {}),  # absent in older reports
        languages=(tree["languages"][0], tree["languages"][1]) if tree.get("languages") else None,
    )
