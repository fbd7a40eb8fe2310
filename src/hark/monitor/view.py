"""What is known of a run while it goes on, as far as it is shown.

A `View` is frozen; each record makes the next one, and drawing only reads it, so that the thread that refreshes the
screen never meets a half-made state.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from hark.monitor.running_mean import RunningMean
from hark.train.records import DevRecord, Record, SaveRecord, StartRecord, StopRecord, TrainRecord, TranslationSample

SAMPLES = 2  # shown at once
RECENT = 20  # records from which the time left is told
FORGET = 0.9  # of the smoothed loss stays when a record is added


@dataclass(frozen=True)
class Trace:
    """A whole run's losses in bounded space: when it is full, neighbours are merged."""

    values: tuple[float, ...] = ()
    stride: int = 1  # records in each value
    total: float = 0.0  # of the records that do not make a value yet
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
    """All that is shown."""

    name: str
    begun: StartRecord | None = None
    recent: tuple[TrainRecord, ...] = ()
    losses: Trace = field(default_factory=Trace)
    smoothed: RunningMean = field(default_factory=RunningMean)
    dev: Mapping[str, DevRecord] = field(default_factory=dict)  # the last of each set
    best: DevRecord | None = None
    saved: SaveRecord | None = None
    samples: tuple[TranslationSample, ...] = ()
    stopped: StopRecord | None = None

    def after(self, record: Record | TranslationSample) -> "View":
        match record:
            case StartRecord():
                return replace(self, begun=record, recent=(), stopped=None)
            case TrainRecord():
                return replace(
                    self,
                    recent=(*self.recent, record)[-RECENT:],
                    losses=self.losses.add(record.loss),
                    smoothed=self.smoothed.add(record.loss, FORGET),
                )
            case DevRecord():
                return replace(self, dev={**self.dev, record.set: record}, best=record if record.best else self.best)
            case SaveRecord():
                return replace(self, saved=record)
            case StopRecord():
                return replace(self, stopped=record)
            case TranslationSample():
                same = [each for each in self.samples if each.step == record.step]
                return replace(self, samples=(*same, record)[-SAMPLES:])

    @property
    def train(self) -> TrainRecord | None:
        return self.recent[-1] if self.recent else None

    @property
    def step(self) -> int:
        """As far as it has come."""
        return self.train.step if self.train else self.begun.step if self.begun else 0

    @property
    def steps(self) -> int:
        return self.begun.steps if self.begun else 0

    @property
    def seconds_left(self) -> float | None:
        """None: not known yet, or nothing is left."""
        if len(self.recent) < 2 or self.step >= self.steps:
            return None
        first, last = self.recent[0], self.recent[-1]
        pace = (last.seconds - first.seconds) / max(last.step - first.step, 1)
        return pace * (self.steps - last.step)
