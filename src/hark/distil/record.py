"""A folder of distilled text, and the exact record of how far it has come.

`NAME.en` and `NAME.de` of each corpus grow a chunk at a time; after each, `report.json` says how many pairs and bytes
are good. Whatever stands beyond that was being written when the work was stopped, and is cut off before it goes on.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self

from hark.atomic import claim, refuse_others
from hark.distil.judge import JudgedLines, JudgedSample
from hark.errors import HarkError, UserError

REPORT, PARTIAL = "report.json", ".report.json.partial"
KIND = "hark distilled text"
FORMAT = 1
SAVE_SECONDS = 2.0
"""Between records: so much work is lost by a kill, and no more than that is waited for the disk."""
SAMPLES = 10
"""Faulty translations of each kind that the report shows."""


@dataclass(frozen=True)
class CorpusRecord:
    """What is there of one corpus."""

    name: str
    pairs: int = 0
    sizes: tuple[int, int] = (0, 0)
    """In bytes, of the source's file and the target's."""
    replaced: Mapping[str, int] = field(default_factory=dict)
    """Pairs that kept the target that they had, by the reason why."""
    samples: tuple[JudgedSample, ...] = ()

    def plus(self, lines: JudgedLines) -> "CorpusRecord":
        return CorpusRecord(
            self.name,
            self.pairs + lines.pairs,
            (self.sizes[0] + len(lines.source), self.sizes[1] + len(lines.target)),
            dict(Counter(self.replaced) + lines.replaced),
            first_of_each((*self.samples, *lines.samples)),
        )

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> Self:
        samples = tuple(JudgedSample(**each) for each in tree["samples"])
        return cls(**{**tree, "sizes": tuple(tree["sizes"]), "samples": samples})


def first_of_each(samples: Iterable[JudgedSample]) -> tuple[JudgedSample, ...]:
    """So many samples of each kind as a report shows."""
    kept: list[JudgedSample] = []
    for sample in samples:
        if sum(each.reason == sample.reason for each in kept) < SAMPLES:
            kept.append(sample)
    return tuple(kept)


@dataclass
class Record:
    """What is there of the whole. `about` is all that the text depends on: another teacher, another record."""

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

    def add(self, lines: JudgedLines) -> None:
        # One assignment, which Ctrl-C cannot divide: the record is true at every moment.
        self.corpora[lines.corpus] = self.corpora[lines.corpus].plus(lines)

    def to_json(self) -> str:
        tree = {"kind": KIND, "format": FORMAT, **asdict(self), "corpora": [*map(asdict, self.corpora.values())]}
        return json.dumps(tree, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The record in a folder; none: there is none that can be read."""
        try:
            tree = json.loads((folder / REPORT).read_text(encoding="utf-8"))
            if tree["kind"] != KIND or tree["format"] != FORMAT:
                return None
            corpora = [CorpusRecord.from_tree(each) for each in tree["corpora"]]
            return cls(tree["about"], {each.name: each for each in corpora}, tree["seconds"], tree["complete"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


def is_ours(folder: Path) -> bool:
    return Record.read(folder) is not None or (folder / PARTIAL).exists()


def remove_text(folder: Path, record: Record) -> None:
    """Remove the text that a record speaks of, and then the record; files of others stay."""
    for name in record.corpora:
        for language in record.about["direction"].split(" to "):
            (folder / f"{name}.{language}").unlink(missing_ok=True)
    (folder / REPORT).unlink()


class DistilledText:
    """The folder, while it is written. Only one process at a time can write to it."""

    def __init__(self, folder: Path, record: Record, languages: tuple[str, str]) -> None:
        self.folder, self.record, self.languages = folder, record, languages
        self.files: dict[str, list[BinaryIO]] = {}
        self.saved_at = 0.0

    @classmethod
    @contextmanager
    def open(
        cls,
        folder: Path,
        about: dict[str, Any],
        names: Sequence[str],
        languages: tuple[str, str],
        force: bool = False,
    ) -> Iterator[Self]:
        """A new folder, or one that was begun with the same teacher, dataset and settings; with `force`, one that was
        begun with others is emptied first."""
        refuse_others(folder, is_ours)
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = claim(folder, folder)
        try:
            record = Record.read(folder)
            if record is not None and record.about != about and force:
                remove_text(folder, record)
                record = None
            if record is None:
                record = Record(about, {name: CorpusRecord(name) for name in names})
            if record.about != about:
                different = sorted(key for key in about if record.about.get(key) != about[key])
                raise UserError(
                    f"{folder}: was begun with another {' and another '.join(different)}; "
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
                f"{folder}: cannot be written: {error.strerror or error}; the same command goes on from there"
            ) from error
        finally:
            os.close(lock)

    def paths(self, name: str) -> list[Path]:
        return [self.folder / f"{name}.{language}" for language in self.languages]

    def _cut(self) -> None:
        """Open the files, and leave in them what the record knows of."""
        for corpus in self.record.corpora.values():
            files = self.files[corpus.name] = []
            for path, size in zip(self.paths(corpus.name), corpus.sizes, strict=True):
                files.append(path.open("ab"))
                if files[-1].tell() < size:
                    raise HarkError(f"{path}: is shorter than it was; remove {self.folder} and begin again")
                files[-1].truncate(size)

    def _close(self) -> None:
        files = [file for pair in self.files.values() for file in pair]
        try:
            if files:
                self.save()
        finally:
            for file in files:
                with suppress(OSError):  # the disk is full, and closing flushes: the record tells how much is good
                    file.close()

    def append(self, lines: JudgedLines, seconds: float) -> None:
        """Write a chunk, and record it soon."""
        for file, text in zip(self.files[lines.corpus], (lines.source, lines.target), strict=True):
            file.write(text)
        self.record.add(lines)
        self.record.seconds += seconds
        if time.monotonic() - self.saved_at >= SAVE_SECONDS:
            self.save()

    def finish(self) -> None:
        self.record.complete = True
        self.save()

    def save(self) -> None:
        """Have the record on the disk, and before it all lines that it speaks of."""
        for text in (text for pair in self.files.values() for text in pair):
            text.flush()
            os.fsync(text.fileno())
        partial = self.folder / PARTIAL
        with partial.open("wb") as file:
            file.write(self.record.to_json().encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.folder / REPORT)
        self.saved_at = time.monotonic()
