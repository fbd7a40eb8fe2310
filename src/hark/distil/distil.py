"""Distillation: translate the training text of a dataset with a teacher, and write it as parallel text.

The teacher's engine runs in this process. Other processes detokenise and filter its translations, so that the engine
never waits for them.

`NAME.en` and `NAME.de` of each corpus grow by chunks; `report.json` states how many pairs and bytes are complete.
Anything beyond that was being written at an interruption, and is truncated on resume.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from hark import manifest
from hark.atomic import claim, refuse_others, refuse_overlap
from hark.card import describe_pairs
from hark.config import DecodeConfig
from hark.data.dataset import Dataset
from hark.data.manifest import Shard
from hark.data.progress import Progress, silent
from hark.data.workers import available_processes, run_jobs
from hark.distil.filter import (
    Chunk,
    FilteredLines,
    PackedChunk,
    RejectedSample,
    TranslationFilter,
    first_of_each,
    translate,
)
from hark.engine.interface import Request
from hark.errors import HarkError, UserError
from hark.facts import LanguagePair
from hark.translate.load import Loaded

REPORT, PARTIAL = "report.json", ".report.json.partial"
KIND = "hark distilled text"
FORMAT = 1
SAVE_SECONDS = 2.0
"""Between records: the most work that a kill can lose; more often, it would wait for the disk."""
SAMPLES = 10
"""Rejected translations in the report, per reason."""
CHUNK_PAIRS = 1024
"""Pairs filtered and written at a time: little work on a GPU, half a minute on a CPU."""
CORES_FOR_THE_ENGINE = 4
"""Per core that filters translations."""
MAX_PROCESSES = 4


@dataclass(frozen=True)
class CorpusRecord:
    """The progress of one corpus."""

    name: str
    pairs: int = 0
    sizes: tuple[int, int] = (0, 0)
    """Bytes of the source file and of the target file."""
    replaced: Mapping[str, int] = field(default_factory=dict)
    """Pairs that kept their original target, by reason."""
    samples: tuple[RejectedSample, ...] = ()
    languages: tuple[str, ...] = ()
    """Source and target; empty in older records."""

    def plus(self, lines: FilteredLines) -> "CorpusRecord":
        return CorpusRecord(
            self.name,
            self.pairs + lines.pairs,
            (self.sizes[0] + len(lines.source), self.sizes[1] + len(lines.target)),
            dict(Counter(self.replaced) + lines.replaced),
            first_of_each((*self.samples, *lines.samples), SAMPLES),
            self.languages,
        )

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> Self:
        samples = tuple(RejectedSample(**sample) for sample in tree["samples"])
        languages = tuple(tree.get("languages", ()))
        return cls(**{**tree, "sizes": tuple(tree["sizes"]), "samples": samples, "languages": languages})


@dataclass
class DistilRecord:
    """The progress of all corpora. `about` identifies everything that the text depends on, such as the teacher."""

    about: dict[str, Any]
    corpora: dict[str, CorpusRecord]
    seconds: float = 0.0
    complete: bool = False

    @property
    def pairs(self) -> int:
        return sum(corpus.pairs for corpus in self.corpora.values())

    @property
    def replaced(self) -> Counter[str]:
        return sum((Counter(corpus.replaced) for corpus in self.corpora.values()), Counter[str]())

    def add(self, lines: FilteredLines) -> None:
        # One assignment, which Ctrl-C cannot split: the record is always consistent.
        self.corpora[lines.corpus] = self.corpora[lines.corpus].plus(lines)

    def to_json(self) -> str:
        tree = {"kind": KIND, "format": FORMAT, **asdict(self), "corpora": [*map(asdict, self.corpora.values())]}
        return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Read the record in a folder; None if it is missing or invalid."""
        try:
            tree = json.loads((folder / REPORT).read_text(encoding="utf-8"))
            if tree["kind"] != KIND or tree["format"] != FORMAT:
                return None
            corpora = {corpus["name"]: CorpusRecord.from_tree(corpus) for corpus in tree["corpora"]}
            return cls(tree["about"], corpora, tree["seconds"], tree["complete"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


def is_ours(folder: Path) -> bool:
    return DistilRecord.read(folder) is not None or (folder / PARTIAL).exists()


def remove_text(folder: Path, record: DistilRecord) -> None:
    """Remove the text of a record, and then the record; keep all other files."""
    for name, corpus in record.corpora.items():
        for language in corpus.languages or record.about["direction"].split(" to "):
            (folder / f"{name}.{language}").unlink(missing_ok=True)
    (folder / REPORT).unlink()


class DistilledText:
    """The folder of distilled text, open for writing by one process at a time."""

    def __init__(self, folder: Path, record: DistilRecord, languages: Mapping[str, LanguagePair]) -> None:
        self.folder, self.record, self.languages = folder, record, languages
        self.files: dict[str, list[BinaryIO]] = {}
        self.saved_at = 0.0

    @classmethod
    @contextmanager
    def open(
        cls, folder: Path, about: dict[str, Any], languages: Mapping[str, LanguagePair], force: bool
    ) -> Iterator[Self]:
        """Open a new folder, or resume one of the same teacher, dataset and settings. With `force`, replace text of
        others. `languages` are those of each corpus."""
        refuse_others(folder, is_ours)
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = claim(folder, folder)
        try:
            record = DistilRecord.read(folder)
            if record is not None and record.about != about and force:
                remove_text(folder, record)
                record = None
            if record is None:
                corpora = {name: CorpusRecord(name, languages=pair) for name, pair in languages.items()}
                record = DistilRecord(about, corpora)
            if record.about != about:
                different = sorted(key for key in about if record.about.get(key) != about[key])
                raise UserError(
                    f"{folder}: was made with another {' and another '.join(different)}; "
                    "name another folder, or replace it with --force"
                )
            text = cls(folder, record, languages)
            try:
                if not record.complete:
                    text.save()
                    text._cut()
                yield text
            finally:
                text._close()
        except OSError as error:
            raise HarkError(
                f"{folder}: cannot be written: {error.strerror or error}; run the same command to resume"
            ) from error
        finally:
            os.close(lock)

    def _cut(self) -> None:
        """Open the files, and truncate them to the size in the record."""
        for corpus in self.record.corpora.values():
            files = self.files[corpus.name] = []
            for language, size in zip(self.languages[corpus.name], corpus.sizes, strict=True):
                path = self.folder / f"{corpus.name}.{language}"
                files.append(path.open("ab"))
                if files[-1].tell() < size:
                    raise HarkError(f"{path}: shorter than recorded; remove {self.folder} and start again")
                files[-1].truncate(size)

    def _close(self) -> None:
        try:
            if self.files:
                self.save()
        finally:
            for file in chain.from_iterable(self.files.values()):
                with suppress(OSError):  # closing flushes, and the disk may be full; the record has the valid size
                    file.close()

    def append(self, lines: FilteredLines, seconds: float) -> None:
        """Write a chunk, and save the record if it is due."""
        for file, text in zip(self.files[lines.corpus], (lines.source, lines.target), strict=True):
            file.write(text)
        self.record.add(lines)
        self.record.seconds += seconds
        if time.monotonic() - self.saved_at >= SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Flush all lines to disk, and then the record."""
        for text in chain.from_iterable(self.files.values()):
            text.flush()
            os.fsync(text.fileno())
        partial = self.folder / PARTIAL
        with partial.open("wb") as file:
            file.write(self.record.to_json().encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.folder / REPORT)
        self.saved_at = time.monotonic()


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

        def request(ids: Sequence[int], pair: LanguagePair) -> Request | None:
            if len(ids) >= longest:  # EOS follows
                return None
            prefix = teacher.target_vocabulary.prefix(pair[1])
            return Request(vocabulary.as_source(ids, pair[1], pair[0]), search, prefix)

        chunks = translate(teacher.engine, reader.read(text.record), request)
        build = partial(TranslationFilter, dataset.folder, dataset.reverse, teacher.target_vocabulary)
        processes = processes or min(MAX_PROCESSES, max(1, available_processes() // CORES_FOR_THE_ENGINE))
        started = written = time.monotonic()
        progress("translating", 0, 0.0)
        with closing(run_jobs(processes, build, map(PackedChunk.of, chunks))) as results:
            for lines in results:
                now = time.monotonic()
                text.append(lines, now - written)
                written = now
                done += lines.pairs
                progress("translating", done, done / total)
        text.record.complete = True
        text.save()
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
        has_dropout = dataset.manifest.settings.get("bpe_dropout")
        same_tokens = self.tokenizer.sha256 == teacher.source_vocabulary.sha256 and not has_dropout
        self.vocabulary = None if same_tokens else teacher.source_vocabulary

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
