"""The figures of a dataset's report, from the tallies of its corpora and from its shards."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from hark.config import CleanConfig
from hark.data.manifest import Role, Shard
from hark.data.report import CorpusReport, DatasetReport, DirectionReport, HeldOutReport, SideReport, VocabularyUse
from hark.data.tally import Counts, SideTally, Tally, add_padded, by_line
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
    source_uses = add_padded(*(tally.source.uses for tally in tallies))
    target_uses = add_padded(*(tally.target.uses for tally in tallies))
    if shared:
        vocabularies = [measure_vocabulary("shared", add_padded(source_uses, target_uses), target_pieces)]
    else:
        vocabularies = [
            measure_vocabulary(source, source_uses, source_pieces),
            measure_vocabulary(target, target_uses, target_pieces),
        ]
    return DatasetReport(
        source=source,
        target=target,
        clean=asdict(clean),
        max_length=tallies[0].max_length if tallies else 0,
        corpora=tuple(
            CorpusReport(
                name=tally.corpus,
                kept=tally.kept,
                dropped=dict(tally.dropped),
                samples={rule: by_line(chosen) for rule, chosen in tally.samples.items()},
                too_long=tally.too_long,
                source=measure_side(tally.source, source_pieces),
                target=measure_side(tally.target, target_pieces),
                ratios=tuple(tally.ratios.tolist()),
                augmented=dict(tally.augmented),
                languages=(languages or {}).get(tally.corpus),
            )
            for tally in tallies
        ),
        held_out=tuple(held_out),
        vocabularies=tuple(vocabularies),
        directions=tuple(directions),
    )


def measure_side(tally: SideTally, pieces: Pieces) -> SideReport:
    byte_uses = tally.uses[pieces.specials : pieces.learnt_from]
    return SideReport(
        characters=tally.characters,
        tokens=int(tally.uses.sum()),
        # Each character in UTF-8 has one byte that is not a continuation byte.
        byte_characters=int(byte_uses[:0x80].sum() + byte_uses[0xC0:].sum()),
        lengths=tuple(np.trim_zeros(tally.lengths, "b").tolist()),
    )


def measure_vocabulary(name: str, uses: Counts, pieces: Pieces) -> VocabularyUse:
    used = int(np.count_nonzero(uses[pieces.learnt_from :]))
    return VocabularyUse(name, pieces.size, pieces.size - pieces.learnt_from, used)


def report_held_out(shards: Sequence[Shard]) -> list[HeldOutReport]:
    """Describe the dev and test sets; a set in several directions is one."""
    sets: dict[tuple[Role, str], list[Shard]] = {}
    for shard in shards:
        if shard.role != "train":
            sets.setdefault((shard.role, shard.corpus), []).append(shard)
    return [HeldOutReport(name, role, sum(shard.pairs for shard in of), len(of)) for (role, name), of in sets.items()]


def report_directions(shards: Sequence[Shard]) -> list[DirectionReport]:
    """Describe the training text of a many-to-many dataset by direction."""
    directions: dict[LanguagePair, Counts] = {}
    for shard in shards:
        if shard.languages and shard.role == "train":
            sizes = np.array([shard.pairs, shard.source_tokens, shard.target_tokens])
            directions[shard.languages] = directions.get(shard.languages, 0) + sizes
    return [DirectionReport(*pair, *sizes.tolist()) for pair, sizes in sorted(directions.items())]
