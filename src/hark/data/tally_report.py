"""The report of a dataset, made from one tally per training corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from hark.config import CleanConfig
from hark.data.report import (
    CorpusReport,
    DatasetReport,
    DirectionReport,
    HeldOutReport,
    SideReport,
    VocabularyUse,
)
from hark.data.tally import Counts, SideTally, Tally, add_all, add_padded, by_line
from hark.facts import LanguagePair


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
