"""Follows the files of runs while they grow: each call returns what is new, and reads no more than that."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from hark.errors import UserError
from hark.monitor.overview import Overview, describe_run, find_runs, latest_first, read_overview
from hark.rundir import RunDir
from hark.train.metrics import History, drop_repeats, read_object, read_record, read_samples, valid_records
from hark.train.records import Record, StartRecord, TranslationSample


@dataclass(frozen=True)
class News:
    """What is new in a run."""

    overview: Overview
    history: History
    """All valid records."""
    added: tuple[Record, ...]
    """The records since the last call."""
    whole: bool
    """Whether earlier records no longer count: this is the first call, the run resumed, or the file was replaced."""


@dataclass
class RunFollower:
    """A reader of metrics.jsonl and samples.jsonl that remembers how far it has read."""

    run: RunDir
    name: str
    records: list[Record] = field(default_factory=list)
    unreadable: int = 0
    _offset: int = 0
    _file: int = 0  # its inode
    _known: Overview | None = None
    _samples: tuple[int, int] | None = None

    def news(self) -> News | None:
        """Read on; None if nothing changed. Raises a UserError if the run has vanished."""
        lines, whole = self._new_lines()
        first = len(self.records)
        for line in lines:
            record = read_record(read_object(line))
            self.unreadable += record is None
            if isinstance(record, StartRecord):
                kept = valid_records(self.records, record)
                whole = whole or len(kept) < len(self.records)
                self.records = kept
            if record is not None:
                self.records.append(record)
        history = History(tuple(drop_repeats(self.records)), self.unreadable)
        overview = describe_run(self.run, self.name, history)
        if not lines and not whole and overview == self._known:
            return None
        self._known = overview
        return News(overview, history, () if whole else tuple(self.records[first:]), whole)

    def new_samples(self) -> tuple[TranslationSample, ...] | None:
        """All samples if there are new ones, else None."""
        try:
            info = self.run.samples.stat()
        except OSError:
            return None
        if self._samples == (info.st_mtime_ns, info.st_size):
            return None
        self._samples = (info.st_mtime_ns, info.st_size)
        return read_samples(self.run.samples)

    def _new_lines(self) -> tuple[list[bytes], bool]:
        """The complete lines since the last call, and whether these are all lines of the file."""
        try:
            with self.run.metrics.open("rb") as file:
                info = os.fstat(file.fileno())
                whole = info.st_ino != self._file or info.st_size < self._offset
                if whole:
                    self.records, self.unreadable, self._offset, self._file = [], 0, 0, info.st_ino
                file.seek(self._offset)
                data = file.read()
        except OSError as error:
            # Without the path, which clients of a server must not see.
            if isinstance(error, FileNotFoundError):
                raise UserError(f"{self.name}: the run was moved or deleted") from None
            raise UserError(f"{self.name}: cannot be read: {error.strerror}") from None
        end = data.rfind(b"\n") + 1  # the writer may be in the middle of a line
        self._offset += end
        return [line for line in data[:end].split(b"\n") if line.strip()], whole


class RunList:
    """The runs in a folder. Only those whose files changed are read again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Path, tuple[tuple[int, int, bool], Overview]] = {}

    def read(self) -> list[Overview]:
        """The runs, the most recently active first."""
        self._known = {run.path: self._look(run) for run in find_runs(self.folder)}
        return latest_first(overview for _, overview in self._known.values())

    def _look(self, run: RunDir) -> tuple[tuple[int, int, bool], Overview]:
        try:
            info = run.metrics.stat()
            state = info.st_mtime_ns, info.st_size, run.in_use
        except OSError:  # it vanished just now
            state = 0, 0, False
        known = self._known.get(run.path)
        return known if known and known[0] == state else (state, read_overview(run, self.folder))
