"""Distillation: translate the training text of a dataset with a teacher, and write it as parallel text.

The teacher's engine runs in this process. Other processes detokenise and filter its translations, so that the engine
never waits for them.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from hark import manifest
from hark.atomic import refuse_overlap
from hark.card import describe_pairs
from hark.config import DecodeConfig
from hark.data.dataset import Dataset
from hark.data.manifest import Shard
from hark.data.progress import Progress, silent
from hark.data.workers import available_processes, run_jobs
from hark.distil.filter import Chunk, PackedChunk, RequestMaker, TranslationFilter, translate
from hark.distil.record import DistilledText, DistilRecord
from hark.errors import UserError
from hark.facts import LanguagePair
from hark.translate.load import Loaded

CHUNK_PAIRS = 1024
"""Pairs filtered and written at a time: little work on a GPU, half a minute on a CPU."""
CORES_FOR_THE_ENGINE = 4
"""Per core that filters translations."""
MOST_PROCESSES = 4


@dataclass(frozen=True)
class Distilled:
    """The result of `distil`."""

    record: DistilRecord
    new_pairs: int
    """Pairs translated by this call; 0 if the text was already complete."""
    seconds: float


def distil(
    teacher: Loaded,
    dataset: Dataset,
    folder: Path,
    search: DecodeConfig,
    limit: int | None = None,
    processes: int | None = None,
    progress: Progress = silent,
    force: bool = False,
) -> Distilled:
    """Write `NAME.SOURCE` and `NAME.TARGET` for each training corpus: its sources, and the teacher's translations.

    The dataset is read in the teacher's direction, or in every direction that a many-to-many teacher knows, and only up
    to `limit` pairs per corpus. If interrupted, the same call resumes. Raises an error if `folder` has text of another
    teacher, dataset or setting, or replaces it with `force`.
    """
    dataset = choose_directions(teacher, dataset)
    shards = dataset.shards("train")
    about = describe(teacher, dataset, search, limit)
    refuse_overlap(folder, [teacher.bundle.folder, dataset.folder])
    languages = {shard.name: pair_of(shard, dataset) for shard in shards}
    with DistilledText.open(folder, about, languages, force) as text:
        if text.record.complete:
            return Distilled(text.record, 0, 0.0)
        reader = Reader(teacher, dataset, limit)
        total, done = sum(map(reader.count, shards)) - text.record.pairs, 0
        vocabulary, config = teacher.source_vocabulary, teacher.config
        longest = min(config.batches.max_length, config.model.max_positions) - vocabulary.lead
        to_source, prefix = vocabulary.as_source, teacher.target_vocabulary.prefix
        requests = RequestMaker(
            search, longest, lambda ids, pair: to_source(ids, pair[1], pair[0]), lambda pair: prefix(pair[1])
        )
        chunks = translate(teacher.engine, reader.read(text.record), requests)
        build = partial(TranslationFilter, dataset.folder, dataset.reverse, teacher.target_vocabulary)
        processes = processes or min(MOST_PROCESSES, max(1, available_processes() // CORES_FOR_THE_ENGINE))
        started = written = time.monotonic()
        progress("translating", 0, 0.0)
        with closing(run_jobs(processes, build, map(PackedChunk.of, chunks))) as results:
            for lines in results:
                now = time.monotonic()
                text.append(lines, now - written)
                written = now
                done += lines.pairs
                progress("translating", done, done / total)
        text.finish()
        return Distilled(text.record, done, time.monotonic() - started)


def choose_directions(teacher: Loaded, dataset: Dataset) -> Dataset:
    """Return the dataset in the teacher's direction, or with all directions that the teacher translates."""
    scheme = teacher.source_vocabulary.scheme
    if scheme.kind == "none":
        return dataset.towards(teacher.config.data.source, teacher.config.data.target)
    pairs = scheme.pairs
    if not dataset.manifest.tagged:
        source, target = dataset.manifest.source, dataset.manifest.target
        if (source, target) not in pairs:
            raise UserError(f"{dataset.folder}: is {source} to {target}, which the teacher does not translate")
        return dataset
    shards = tuple(shard for shard in dataset.manifest.shards if shard.languages in pairs)
    if not any(shard.role == "train" for shard in shards):
        raise UserError(f"{dataset.folder}: has no direction that the teacher translates ({describe_pairs(pairs)})")
    return Dataset(dataset.folder, replace(dataset.manifest, shards=shards))


def pair_of(shard: Shard, dataset: Dataset) -> LanguagePair:
    return shard.languages or (dataset.manifest.source, dataset.manifest.target)


def describe(teacher: Loaded, dataset: Dataset, search: DecodeConfig, limit: int | None) -> dict[str, object]:
    """Everything that the text depends on, by names that error messages can use."""
    sealed = manifest.read_manifest(teacher.bundle.folder) or {"files": {}}
    return {
        "teacher": {name: about["sha256"] for name, about in sorted(sealed["files"].items())},
        "dataset": dataset.manifest.key,
        "direction": ", ".join(" to ".join(pair) for pair in sorted(dataset.manifest.directions)),
        "search": asdict(search),
        "limit": limit,
    }


class Reader:
    """The pairs of a dataset's training corpora, in the teacher's tokens."""

    def __init__(self, teacher: Loaded, dataset: Dataset, limit: int | None) -> None:
        self.dataset, self.limit = dataset, limit
        self.tokenizer = dataset.tokenizer("source")
        # With BPE-dropout, a dataset's tokens differ from those that the text is encoded into for translation.
        same_tokens = self.tokenizer.sha256 == teacher.source_vocabulary.sha256 and not self.drops
        self.vocabulary = None if same_tokens else teacher.source_vocabulary

    @property
    def drops(self) -> bool:
        return bool(self.dataset.manifest.settings.get("bpe_dropout"))

    def count(self, shard: Shard) -> int:
        return shard.pairs if self.limit is None else min(shard.pairs, self.limit)

    def read(self, record: DistilRecord) -> Iterator[Chunk]:
        """The pairs that the record does not have yet, in order."""
        for shard in self.dataset.shards("train"):
            store, end = self.dataset.store(shard), self.count(shard)
            for first in range(record.corpora[shard.name].pairs, end, CHUNK_PAIRS):
                rows = np.arange(first, min(first + CHUNK_PAIRS, end))
                sources = [ids[shard.lead :] for ids in store.sentences(rows, "source")]
                if self.vocabulary is not None:
                    sources = [self.vocabulary.encode_one(text) for text in self.tokenizer.decode(sources)]
                yield Chunk(shard.name, first, sources, pair_of(shard, self.dataset))


def refuse_sampling(search: DecodeConfig) -> None:
    """Raise an error unless the search returns the single best translation."""
    if search.sample or search.diverse or search.nbest > 1:
        raise UserError("distillation needs one translation per sentence; do not set sample, diverse or nbest")
