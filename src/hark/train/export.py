"""Export of a run as a bundle: the best model so far, or the average of the last checkpoints (paper, 6.1)."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path

from torch import Tensor

from hark import configfile, manifest
from hark.bundle import name_of, write_bundle
from hark.card import default_summary
from hark.config import Config
from hark.data.dataset import Dataset
from hark.errors import HarkError, UserError
from hark.facts import (
    Facts,
    LabelFacts,
    LanguagePair,
    MakingFacts,
    ParentModel,
    TextFacts,
    VocabularyFacts,
    VocabularyKind,
)
from hark.model.weights import read_tensors
from hark.rundir import RunDir
from hark.text.opening import vocabulary_files
from hark.train import checkpoint
from hark.train.checkpoint import list_checkpoints, write_tensors


@dataclass(frozen=True)
class BundleWriter:
    """Writes weights as a bundle, with the settings and tokenizers of the run."""

    config: Config
    text: tuple[TextFacts, ...]
    """The corpora of the dataset, whatever else the recipe lists."""
    tokenizers: Mapping[str, bytes]
    pairs: tuple[LanguagePair, ...]
    """The directions of the dataset."""
    vocabulary: VocabularyFacts = field(default_factory=VocabularyFacts)
    languages: tuple[str, ...] = ()
    """The language of a dataset of text, or of pairs of one language."""
    labels: LabelFacts | None = None

    @classmethod
    def of(cls, config: Config, dataset: Dataset) -> "BundleWriter":
        tokenizers = vocabulary_files(dataset.tokenizer("source"), dataset.tokenizer("target"))
        kind: VocabularyKind = "pieces" if dataset.has_imported_vocabulary else "sentencepiece"
        text = describe_text(config, dataset)
        pairs = dataset.manifest.directions
        if not pairs or all(source == target for source, target in pairs):  # what has one language is not translated
            languages, labels = (dataset.manifest.target,), dataset.manifest.labels
            return cls(config, text, tokenizers, (), VocabularyFacts(kind), languages, labels)
        characters, signs = dataset.count_signs()
        tags = dataset.manifest.language_tags
        vocabulary = VocabularyFacts(kind, tags, source_characters=characters, source_signs=signs)
        return cls(config, text, tokenizers, pairs, vocabulary)

    @property
    def tokenizer_hashes(self) -> dict[str, str]:
        return {name: hashlib.sha256(model).hexdigest() for name, model in self.tokenizers.items()}

    def write(
        self,
        folder: Path,
        weights: Mapping[str, Tensor],
        origin: str,
        force: bool = False,
        step: int | None = None,
        dev: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        """Write a bundle. `step` and `dev`: when these weights were measured, and the result by dev set and name."""
        facts = self.facts(weights, origin)
        measured = {name: {key: x for key, x in each.items() if isfinite(x)} for name, each in (dev or {}).items()}
        facts = replace(facts, making=replace(facts.making, step=step, dev=measured))
        try:
            write_bundle(folder, self.config, lambda path: write_tensors(path, weights), self.tokenizers, facts, force)
        except OSError as error:
            raise HarkError(f"{folder}: cannot be written: {error.strerror}; the previous bundle is intact") from None

    def facts(self, weights: Mapping[str, Tensor], origin: str) -> Facts:
        train = self.config.train
        making = MakingFacts(
            weights=origin,
            parameters=sum(weight.numel() for weight in weights.values()),
            storage="float32",
            steps=train.steps,
            step_tokens=self.config.batches.batch_tokens * train.batches_per_step,
            variants={name: share for name, share in vars(self.config.data.augment).items() if share},
            parents=(ParentModel("start", name_of(Path(train.from_))),) if train.from_ else (),
        )
        facts = Facts(
            pairs=self.pairs,
            vocabulary=self.vocabulary,
            text=self.text,
            making=making,
            languages=self.languages,
            labels=self.labels,
        )
        return replace(facts, summary=default_summary(facts, self.config.model))


def describe_text(config: Config, dataset: Dataset) -> tuple[TextFacts, ...]:
    """The corpora of the training text. A corpus of several language pairs is one."""
    if dataset.manifest.is_text:
        return tuple(TextFacts(shard.name) for shard in dataset.shards("train"))
    augmented = any(vars(config.data.augment).values())  # then a shard has more pairs than its corpus
    pairs: Counter[str] = Counter()
    for shard in dataset.shards("train"):
        pairs[shard.corpus] += shard.pairs if shard.name in dataset.manifest.corpora else 0
    return tuple(TextFacts(name, pairs=None if augmented else count) for name, count in pairs.items())


def average_checkpoints(folders: Sequence[Path]) -> dict[str, Tensor]:
    """Average the weights of several checkpoints, summing in float64."""
    sums: dict[str, Tensor] = {}
    for folder in folders:
        manifest.verify(folder, checkpoint.KIND, checkpoint.FORMAT)
        for name, weight in read_tensors(folder / "model.safetensors").items():
            sums[name] = sums[name] + weight.double() if name in sums else weight.double()
    return {name: (total / len(folders)).float() for name, total in sums.items()}


def average_run(run: RunDir, last: int, output: Path, force: bool = False) -> list[int]:
    """Write the average of the last checkpoints of a run as a bundle, and return their steps."""
    folders = list_checkpoints(run.checkpoints)[-last:]
    if len(folders) < last:
        raise UserError(f"{run.path}: has {len(folders)} checkpoints, not {last}; lower --last")
    config = configfile.load(run.config)
    steps = [checkpoint.step_of(folder) for folder in folders]
    origin = f"average of the checkpoints of steps {', '.join(map(str, steps))}"
    writer = BundleWriter.of(config, Dataset.open(config.data.dataset, config.data.reverse))
    writer.write(output, average_checkpoints(folders), origin, force)
    return steps
