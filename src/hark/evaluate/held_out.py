"""Test sets, and translations of them by other systems."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hark.config import CorpusConfig
from hark.data.compression import ByteStream, plain_name
from hark.data.corpus import name_corpora, read_lines, read_pairs
from hark.data.dataset import Dataset
from hark.data.manifest import direction_name
from hark.errors import HarkError, UserError
from hark.facts import LanguagePair
from hark.text.detector import base_language, guess_language, known_languages

GLANCE = 100
"""Lines of a test set used for language detection."""


@dataclass(frozen=True)
class HeldOutSet:
    """Source sentences and references, line by line."""

    name: str
    sources: tuple[str, ...]
    references: tuple[str, ...]
    languages: LanguagePair | None = None
    """The direction, for models of several pairs."""

    @property
    def corpus(self) -> str:
        """The name without the direction, which sets of a many-to-many dataset have."""
        return self.name if self.languages is None else self.name.removesuffix(f".{direction_name(self.languages)}")

    def __len__(self) -> int:
        return len(self.sources)


def open_sets(
    source: Sequence[Path],
    reference: Sequence[Path],
    names: Sequence[str],
    dataset: Path | None,
    direction: LanguagePair | None,
) -> tuple[list[HeldOutSet], LanguagePair | None]:
    """Open the test sets; return them and, for a dataset of one pair, its languages.

    A dataset is reversed to fit `direction`. The sets of a many-to-many dataset know their languages.
    """
    if dataset is not None:
        if source or reference or names:
            raise UserError("--dataset cannot be combined with --source, --reference or --name")
        opened = Dataset.open(dataset)
        if opened.manifest.tagged:
            return sets_of(opened), None
        if direction == (opened.manifest.target, opened.manifest.source):
            opened = Dataset.open(dataset, reverse=True)
        return sets_of(opened), (opened.manifest.source, opened.manifest.target)
    if not source and not reference:
        raise UserError("no test set; use --source FILE and --reference FILE, or --dataset DATASET")
    return read_sets(source, reference, names), None


def read_sets(sources: Sequence[Path], references: Sequence[Path], names: Sequence[str] = ()) -> list[HeldOutSet]:
    """Read sets of two files each, named after their files by default."""
    if len(sources) != len(references):
        raise UserError(f"{len(sources)} --source but {len(references)} --reference; use one --reference per --source")
    if names and len(names) != len(sources):
        raise UserError(f"{len(names)} --name for {len(sources)} --source; use one for each, or none")
    corpora = [
        CorpusConfig(source=str(source), target=str(reference), name=name)
        for source, reference, name in zip(sources, references, names or [""] * len(sources), strict=True)
    ]
    # test.en and test.de are the set `test`; any suffix counts as a language.
    languages = {Path(plain_name(file)).suffix.removeprefix(".") for file in (*sources, *references)}
    return [
        read_set(name, corpus)
        for name, corpus in zip(name_corpora(corpora, sorted(languages - {""})), corpora, strict=True)
    ]


def read_set(name: str, corpus: CorpusConfig) -> HeldOutSet:
    pairs = list(read_pairs(corpus, "", ""))
    if not pairs:
        raise UserError(f"{corpus.source} and {corpus.target} are empty; nothing to evaluate")
    return HeldOutSet(name, *zip(*pairs, strict=True))


def sets_of(dataset: Dataset) -> list[HeldOutSet]:
    """Every test set of a prepared dataset, as raw text."""
    sets = [
        HeldOutSet(
            shard.name, tuple(dataset.text(shard, "source")), tuple(dataset.text(shard, "target")), shard.languages
        )
        for shard in dataset.shards("test")
        if shard.pairs
    ]
    if not sets:
        raise UserError(f"{dataset.folder}: has no test sets; prepare it with --test, or use --source and --reference")
    return sets


def read_hypotheses(file: Path, held_out: HeldOutSet) -> tuple[str, ...]:
    """Read another system's translations of a set."""
    with ByteStream(file) as stream:
        lines = tuple(read_lines(stream))
    if len(lines) != len(held_out):
        raise UserError(f"{file} has {len(lines)} lines but {held_out.name} has {len(held_out)}; they must match")
    return lines


def wrong_direction(sets: Sequence[HeldOutSet], pair: LanguagePair) -> Iterator[str]:
    """A warning for each test set with a source that looks like the model's target language."""
    source, target = pair
    try:
        known = sorted(known_languages())
    except HarkError:  # the detector is optional
        return
    for each in sets:
        detected = guess_language(" ".join(each.sources[:GLANCE]), known)
        if detected == base_language(target) != base_language(source):
            yield (
                f"{each.name}: the source looks like {target}, but the model translates from {source} to {target}: "
                "are --source and --reference swapped?"
            )
