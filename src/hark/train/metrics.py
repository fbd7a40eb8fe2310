"""Reading and writing metrics.jsonl and samples.jsonl, one JSON object per line.

The files are append-only. A killed run can leave half a line, and records of steps that the resumed run takes again.
The reader discards these, not the writer, so that no crash can damage what is already written.
"""

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from hark.errors import HarkError, UserError
from hark.train.records import (
    KINDS,
    DevRecord,
    Record,
    ResumeRecord,
    SaveRecord,
    StartRecord,
    StopReason,
    StopRecord,
    TrainRecord,
    TranslationSample,
)


class MetricsWriter:
    """Appends records to a file (metrics.jsonl or samples.jsonl), one whole line per write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            size = os.fstat(self.file).st_size
            self.torn = size > 0 and os.pread(self.file, 1, size - 1) != b"\n"
        except OSError as error:
            raise HarkError(f"{path}: cannot be written: {error.strerror}") from None

    def write(self, record: Record | TranslationSample) -> None:
        line = json.dumps(to_json(record), ensure_ascii=False, allow_nan=False) + "\n"
        data = line.encode("utf-8", "backslashreplace")
        if self.torn:  # a killed process left half a line; start a new one
            data = b"\n" + data
        try:
            while data:
                data = data[os.write(self.file, data) :]
                self.torn = bool(data)
        except OSError as error:
            raise HarkError(
                f"{self.path}: cannot be written: {error.strerror}; free disk space, then resume with "
                f"hark train --resume {self.path.parent}"
            ) from None

    def close(self) -> None:
        os.close(self.file)

    def __enter__(self) -> "MetricsWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def to_json(record: Record | TranslationSample) -> dict[str, Any]:
    """Convert a record to JSON values. NaN and infinity, which JSON does not have, become null."""
    kind = {} if isinstance(record, TranslationSample) else {"kind": record.kind}
    values = kind | vars(record)
    if isinstance(record, DevRecord):
        values["scores"] = {name: finite_or_none(value) for name, value in record.scores.items()}
    return {name: finite_or_none(value) for name, value in values.items()}


def finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class History:
    """The valid records of a run, in the order of writing."""

    records: tuple[Record, ...] = ()
    unreadable: int = field(default=0, compare=False)
    """Lines that hold no record: truncated by a kill, written by a newer hark, or garbage."""

    @cached_property
    def train(self) -> tuple[TrainRecord, ...]:
        return tuple(record for record in self.records if isinstance(record, TrainRecord))

    @cached_property
    def dev(self) -> tuple[DevRecord, ...]:
        return tuple(record for record in self.records if isinstance(record, DevRecord))

    @cached_property
    def start(self) -> StartRecord | None:
        """The latest start or resume."""
        return next((record for record in reversed(self.records) if isinstance(record, StartRecord)), None)

    @property
    def last(self) -> TrainRecord | None:
        return self.train[-1] if self.train else None

    @cached_property
    def best(self) -> DevRecord | None:
        return next((record for record in reversed(self.dev) if record.best), None)

    @property
    def stopped(self) -> StopRecord | None:
        """The stop record, or None if the run is active or was killed."""
        ends = (record for record in reversed(self.records) if isinstance(record, StopRecord | StartRecord))
        last = next(ends, None)
        return last if isinstance(last, StopRecord) else None

    @property
    def step(self) -> int:
        """The last recorded step."""
        return max((record.step for record in self.records), default=0)

    @property
    def steps(self) -> int | None:
        """The planned number of steps."""
        return self.start.steps if self.start else None

    @property
    def time(self) -> float | None:
        """When the last record was written."""
        return max((record.time for record in self.records), default=None)


def read_metrics(path: Path) -> History:
    """Read the history of a run, without records that a resume made void."""
    kept: list[Record] = []
    unreadable = 0
    for values in read_objects(path):
        record = read_record(values)
        unreadable += record is None
        if isinstance(record, StartRecord):
            kept = valid_records(kept, record)
        if record is not None:
            kept.append(record)
    return History(tuple(drop_repeats(kept)), unreadable)


def valid_records(records: Iterable[Record], start: StartRecord) -> list[Record]:
    """The records that are still valid after a run restarts, or resumes from a checkpoint."""
    return [record for record in records if isinstance(start, ResumeRecord) and record.step <= start.step]


def drop_repeats(records: list[Record]) -> list[Record]:
    """Keep the last record of each step: a run killed between saving and evaluating a step evaluates it again."""
    last: dict[tuple[object, ...], int] = {}
    for index, record in enumerate(records):
        if isinstance(record, TrainRecord | DevRecord | SaveRecord):
            last[record.kind, record.step, record.set if isinstance(record, DevRecord) else ""] = index
        else:
            last[record.kind, index] = index
    return [records[index] for index in sorted(last.values())]


def read_samples(path: Path) -> tuple[TranslationSample, ...]:
    """Read the samples in the order of steps; empty if the file does not exist yet."""
    kept: dict[tuple[int, str], TranslationSample] = {}
    if not path.exists():
        return ()
    for values in filter(None, read_objects(path)):
        try:
            sample = build_record(TranslationSample, values)
        except (KeyError, TypeError):
            continue
        if kept and sample.step < next(reversed(kept.values())).step:  # the run resumed from an earlier step
            kept = {key: earlier for key, earlier in kept.items() if earlier.step < sample.step}
        kept[sample.step, sample.source] = sample
    return tuple(kept.values())


def read_objects(path: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the JSON object of each line, or None if the line is not one: a kill may have truncated it."""
    try:
        with path.open("rb") as lines:
            for line in lines:
                if not line.isspace():
                    yield read_object(line)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def read_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line, or None if it is not one."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):  # also text that is not UTF-8
        return None
    return values if isinstance(values, dict) else None


def read_record(values: Mapping[str, Any] | None) -> Record | None:
    """Return a record, or None if there is none or this version does not know its kind or its fields."""
    try:
        return build_record(KINDS[values["kind"]], values) if values is not None else None
    except (KeyError, TypeError):
        return None


AnyRecord = TypeVar("AnyRecord", bound=Record | TranslationSample)


def build_record(kind: type[AnyRecord], values: Mapping[str, Any]) -> AnyRecord:
    """Build a record from JSON values. A missing key or a wrong type raises; unknown keys are ignored."""
    readers = READERS_OF[kind]
    return kind(**{name: readers[name](value) for name, value in values.items() if name in readers})


def read_float(value: Any) -> float:
    return math.nan if value is None else as_type(float, float(value) if type(value) is int else value)


AnyType = TypeVar("AnyType")


def as_type(kind: type[AnyType], value: Any) -> AnyType:
    if type(value) is not kind:  # not isinstance: bool is a subclass of int
        raise TypeError(f"{value!r} is not {kind.__name__}")
    return value


READERS: dict[Any, Callable[[Any], Any]] = {
    int: partial(as_type, int),
    str: partial(as_type, str),
    bool: partial(as_type, bool),
    float: read_float,
    float | None: lambda value: None if value is None else read_float(value),
    Mapping[str, float]: lambda value: {name: read_float(score) for name, score in as_type(dict, value).items()},
    StopReason: partial(as_type, str),
}


def readers_of(kind: type[Record | TranslationSample]) -> dict[str, Callable[[Any], Any]]:
    hints = get_type_hints(kind)
    return {entry.name: READERS[hints[entry.name]] for entry in fields(kind)}


# Computed once: a long run has many records of few kinds.
READERS_OF: dict[type, dict[str, Callable[[Any], Any]]] = {
    kind: readers_of(kind) for kind in (*KINDS.values(), TranslationSample)
}
