"""The state of a run as the panel shows it.

A `View` is immutable, and each record makes a new one, so the thread that draws never sees a partial update.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from hark.train.records import DevRecord, Record, SaveRecord, StartRecord, StopRecord, TrainRecord, TranslationSample

SAMPLES = 2  # shown at once
RECENT = 20  # records for the estimate of the time left
DECAY = 0.9  # of the smoothed loss


@dataclass(frozen=True)
class RunningMean:
    """An exponential moving average with bias correction."""

    total: float = 0.0
    weight: float = 0.0

    def add(self, value: float, keep: float) -> "RunningMean":
        """Add a value, with `keep` as the decay. Ignore NaN and infinity."""
        if not math.isfinite(value):
            return self
        return RunningMean(keep * self.total + (1 - keep) * value, keep * self.weight + (1 - keep))

    @property
    def value(self) -> float:
        return self.total / self.weight if self.weight else math.nan


@dataclass(frozen=True)
class Trace:
    """A whole run's losses in bounded space: when full, adjacent values are averaged."""

    values: tuple[float, ...] = ()
    stride: int = 1  # records in each value
    total: float = 0.0  # of the records that do not fill a value yet
    count: int = 0

    LIMIT = 256

    def add(self, value: float) -> "Trace":
        if not math.isfinite(value):
            return self
        total, count = self.total + value, self.count + 1
        if count < self.stride:
            return replace(self, total=total, count=count)
        values = (*self.values, total / count)
        if len(values) < self.LIMIT:
            return Trace(values, self.stride)
        pairs = zip(islice(values, 0, None, 2), islice(values, 1, None, 2), strict=True)
        return Trace(tuple((first + second) / 2 for first, second in pairs), 2 * self.stride)


@dataclass(frozen=True)
class View:
    """A snapshot of everything that the panel shows."""

    name: str
    start: StartRecord | None = None
    recent: tuple[TrainRecord, ...] = ()
    losses: Trace = field(default_factory=Trace)
    smoothed: RunningMean = field(default_factory=RunningMean)
    dev: Mapping[str, DevRecord] = field(default_factory=dict)  # the last of each set
    best: DevRecord | None = None
    saved: SaveRecord | None = None
    samples: tuple[TranslationSample, ...] = ()
    stopped: StopRecord | None = None

    def after(self, record: Record | TranslationSample) -> "View":
        """The view updated with a record."""
        match record:
            case StartRecord():
                return replace(self, start=record, recent=(), stopped=None)
            case TrainRecord():
                return replace(
                    self,
                    recent=(*self.recent, record)[-RECENT:],
                    losses=self.losses.add(record.loss),
                    smoothed=self.smoothed.add(record.loss, DECAY),
                )
            case DevRecord():
                return replace(self, dev={**self.dev, record.set: record}, best=record if record.best else self.best)
            case SaveRecord():
                return replace(self, saved=record)
            case StopRecord():
                return replace(self, stopped=record)
            case TranslationSample():
                same = [sample for sample in self.samples if sample.step == record.step]
                return replace(self, samples=(*same, record)[-SAMPLES:])

    @property
    def train(self) -> TrainRecord | None:
        return self.recent[-1] if self.recent else None

    @property
    def step(self) -> int:
        """The last step that was logged."""
        return self.train.step if self.train else self.start.step if self.start else 0

    @property
    def steps(self) -> int:
        return self.start.steps if self.start else 0

    @property
    def seconds_left(self) -> float | None:
        """Estimated from recent records; None if unknown or finished."""
        if len(self.recent) < 2 or self.step >= self.steps:
            return None
        first, last = self.recent[0], self.recent[-1]
        step_seconds = (last.seconds - first.seconds) / max(last.step - first.step, 1)
        return step_seconds * (self.steps - last.step)
