"""Let a teacher translate the training text of a dataset, and write what it says as parallel text.

The teacher's engine works in this process; its translations are judged and become text in others, so that the engine
never waits for them.
"""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from hark import manifest
from hark.atomic import refuse_overlap
from hark.config import DecodeConfig
from hark.data.dataset import Dataset, Shard
from hark.data.progress import Progress, silent
from hark.data.workers import available_processes, run_jobs
from hark.decode.load import Loaded
from hark.distil.answers import Chunk, translate
from hark.distil.judge import Answers, Judge
from hark.distil.record import DistilledText, Record
from hark.errors import UserError

CHUNK_PAIRS = 1024
"""Pairs that are judged and written at once: little for an engine on a GPU, half a minute for one on a CPU."""
CORES_FOR_THE_ENGINE = 4
"""For each core that judges translations."""
MOST_PROCESSES = 4


@dataclass(frozen=True)
class Distilled:
    """The record of the text, and whether some of it was made now, or all lay there already."""

    record: Record
    made: int
    """Pairs of this run."""
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

    The teacher's languages say in which direction the dataset is read. With `limit`, only the first pairs of each
    corpus. Stopped at any moment, the same call goes on where it was. Text of another teacher, dataset or setting that
    lies in `folder` is refused, or replaced with `force`.
    """
    languages = teacher.config.data.source, teacher.config.data.target
    dataset = dataset.towards(*languages)
    shards = dataset.shards("train")
    about = describe(teacher, dataset, search, limit)
    refuse_overlap(folder, [teacher.bundle.folder, dataset.folder])
    with DistilledText.open(folder, about, [shard.name for shard in shards], languages, force) as text:
        if text.record.complete:
            return Distilled(text.record, 0, 0.0)
        reader = Reader(teacher, dataset, limit)
        total, done = sum(map(reader.count, shards)) - text.record.pairs, 0
        vocabulary, config = teacher.source_vocabulary, teacher.config
        longest = min(config.batches.max_length, config.model.max_positions) - vocabulary.lead
        as_source = partial(vocabulary.as_source, source=languages[0], target=languages[1])
        prefix = teacher.target_vocabulary.prefix(languages[1])
        chunks = translate(teacher.engine, reader.read(text.record), search, longest, as_source, prefix)
        build = partial(Judge, dataset.folder, dataset.reverse, teacher.target_vocabulary)
        processes = processes or min(MOST_PROCESSES, max(1, available_processes() // CORES_FOR_THE_ENGINE))
        began = written = time.monotonic()
        progress("translating", 0, 0.0)
        with closing(run_jobs(processes, build, map(Answers.of, chunks))) as results:
            for lines in results:
                now = time.monotonic()
                text.append(lines, now - written)
                written = now
                done += lines.pairs
                progress("translating", done, done / total)
        text.finish()
        return Distilled(text.record, done, time.monotonic() - began)


def describe(teacher: Loaded, dataset: Dataset, search: DecodeConfig, limit: int | None) -> dict[str, object]:
    """All that the text depends on, by the words that a person knows it by."""
    sealed = manifest.read_manifest(teacher.bundle.folder) or {"files": {}}
    return {
        "teacher": {name: about["sha256"] for name, about in sorted(sealed["files"].items())},
        "dataset": dataset.manifest.key,
        "direction": f"{dataset.manifest.source} to {dataset.manifest.target}",
        "search": asdict(search),
        "limit": limit,
    }


class Reader:
    """The pairs of a dataset's training corpora, in the teacher's tokens."""

    def __init__(self, teacher: Loaded, dataset: Dataset, limit: int | None) -> None:
        self.dataset, self.limit = dataset, limit
        self.tokenizer = dataset.tokenizer("source")
        # BPE-dropout makes a dataset's tokens other than those that text is encoded into when it is translated.
        as_it_is = self.tokenizer.sha256 == teacher.source_vocabulary.sha256 and not self.drops
        self.vocabulary = None if as_it_is else teacher.source_vocabulary

    @property
    def drops(self) -> bool:
        return bool(self.dataset.manifest.settings.get("bpe_dropout"))

    def count(self, shard: Shard) -> int:
        return shard.pairs if self.limit is None else min(shard.pairs, self.limit)

    def read(self, record: Record) -> Iterator[Chunk]:
        """All that the record does not have yet, in order."""
        for shard in self.dataset.shards("train"):
            store, end = self.dataset.store(shard), self.count(shard)
            for first in range(record.corpora[shard.name].pairs, end, CHUNK_PAIRS):
                rows = np.arange(first, min(first + CHUNK_PAIRS, end))
                sources = store.sentences(rows, "source")
                if self.vocabulary is not None:
                    sources = [self.vocabulary.encode_one(text) for text in self.tokenizer.decode(sources)]
                yield Chunk(shard.name, first, sources)


def refuse_chance(search: DecodeConfig) -> None:
    """One translation of each source, and the best that is found."""
    if search.sample or search.diverse or search.nbest > 1:
        raise UserError(
            "a student learns one translation of each sentence: leave sample, diverse and nbest as they are"
        )
