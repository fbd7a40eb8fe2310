"""The training curves of one or several runs, smoothed and thinned for drawing."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from typing import Literal

from hark.monitor.overview import Overview
from hark.monitor.view import RunningMean
from hark.train.metrics import History
from hark.train.records import DevRecord, TrainRecord

POINTS = 2000  # maximum per curve
SMOOTH_POINTS = 600  # maximum per smoothed curve, which has less detail
SMOOTHING_WINDOW = 0.01  # as a share of the longest run's steps

Axis = Literal["step", "tokens", "time"]


@dataclass(frozen=True)
class Run:
    """A run to draw, with its history."""

    overview: Overview
    history: History


@dataclass(frozen=True)
class Curve:
    """Values of one run against its steps, target tokens and seconds of training."""

    run: int
    step: tuple[int, ...]
    tokens: tuple[int, ...]
    time: tuple[float, ...]
    values: tuple[float, ...]
    set: str = ""  # the dev set, if there are several
    faint: bool = False  # raw values, drawn behind the smoothed curve
    best: int | None = None  # step of the best score, if it is on this curve

    def axis(self, axis: Axis) -> Sequence[float]:
        values: Sequence[float] = getattr(self, axis)
        return values


@dataclass(frozen=True)
class Chart:
    """The curves of one quantity."""

    title: str
    note: str
    curves: tuple[Curve, ...]
    dots: bool = False  # mark single measurements
    from_zero: bool = False  # start the axis at 0, so that a dip of a tenth does not look like a stop


def charts_of(runs: Sequence[Run]) -> list[Chart]:
    """Every chart that has data."""
    charts = [
        Chart("Training loss", "label-smoothed, per target token", noisy_curves(runs, attrgetter("loss"))),
        *dev_charts(runs),
        Chart("Learning rate", "", train_curves(runs, attrgetter("rate"))),
        Chart("Gradient norm", "before clipping", noisy_curves(runs, attrgetter("grad_norm"))),
        Chart("Speed", "target tokens per second", noisy_curves(runs, attrgetter("tokens_per_second")), from_zero=True),
    ]
    return [chart for chart in charts if any(curve.step for curve in chart.curves)]


def noisy_curves(runs: Sequence[Run], value: Callable[[TrainRecord], float]) -> tuple[Curve, ...]:
    """The raw curves, faint, and the smoothed ones."""
    horizon = SMOOTHING_WINDOW * max((run.history.step for run in runs), default=0)
    smoothed = []
    for index, run in enumerate(runs):
        records = [record for record in run.history.train if math.isfinite(value(record))]
        values = smooth([record.step for record in records], [value(record) for record in records], horizon)
        smoothed.append(curve_of(index, records, values, SMOOTH_POINTS))
    faint = [replace(curve, faint=True) for curve in train_curves(runs, value)]
    return (*faint, *smoothed)


def smooth(steps: Sequence[int], values: Sequence[float], horizon: float) -> list[float]:
    """A running mean over about `horizon` steps, independent of how often a run logs.

    The window is shorter near the beginning, where the loss falls so fast that the mean would lag behind it.
    """
    average, previous, smoothed = RunningMean(), 0, []
    for step, value in zip(steps, values, strict=True):
        window = min(horizon, 0.1 * step)
        average = average.add(value, math.exp(-(step - previous) / window) if window > 0 else 0.0)
        previous = step
        smoothed.append(average.value)
    return smoothed


def train_curves(runs: Sequence[Run], value: Callable[[TrainRecord], float]) -> tuple[Curve, ...]:
    return tuple(curve_of(i, run.history.train, list(map(value, run.history.train))) for i, run in enumerate(runs))


def curve_of(index: int, records: Sequence[TrainRecord], values: Sequence[float], limit: int = POINTS) -> Curve:
    kept = [i for i in thin(values, limit) if math.isfinite(values[i])]
    return Curve(
        index,
        tuple(records[i].step for i in kept),
        tuple(records[i].target_tokens for i in kept),
        tuple(records[i].seconds for i in kept),
        tuple(values[i] for i in kept),
    )


def dev_charts(runs: Sequence[Run]) -> Iterable[Chart]:
    """One chart for each score and one for the loss; each dev set has its own stroke."""
    sets = list(dict.fromkeys(record.set for run in runs for record in run.history.dev))
    scores = list(dict.fromkeys(name for run in runs for record in run.history.dev for name in record.scores))
    note = sets[0] if len(sets) == 1 else ""
    for name in scores:
        curves = dev_curves(runs, sets, lambda dev, name=name: dev.scores.get(name, math.nan))  # type: ignore[misc]
        yield Chart(f"Dev {name}", note, curves, dots=True)
    loss_note = f"nll per target token · {note}" if note else "nll per target token"
    yield Chart("Dev loss", loss_note, dev_curves(runs, sets, attrgetter("nll")), dots=True)


def dev_curves(runs: Sequence[Run], sets: Sequence[str], value: Callable[[DevRecord], float]) -> tuple[Curve, ...]:
    return tuple(
        dev_curve(index, run.history, name if len(sets) > 1 else "", records, value)
        for index, run in enumerate(runs)
        for name in sets
        if (records := [record for record in run.history.dev if record.set == name])
    )


def dev_curve(
    index: int, history: History, name: str, records: Sequence[DevRecord], value: Callable[[DevRecord], float]
) -> Curve:
    values = [value(record) for record in records]
    kept = [records[i] for i in thin(values) if math.isfinite(values[i])]
    places = [place(history, record.step) for record in kept]
    best = history.best
    return Curve(
        index,
        tuple(record.step for record in kept),
        tuple(round(tokens) for tokens, _ in places),
        tuple(seconds for _, seconds in places),
        tuple(map(value, kept)),
        set=name,
        best=best.step if best is not None and best in kept else None,
    )


def place(history: History, step: int) -> tuple[float, float]:
    """Target tokens and training seconds at a step, interpolated between training records."""
    train = history.train
    after = bisect_right(train, step, key=attrgetter("step"))
    low = train[after - 1] if after else None
    high = train[after] if after < len(train) else None
    if low is None or high is None:
        near = low or high
        return (near.target_tokens, near.seconds) if near else (0, 0.0)
    share = (step - low.step) / (high.step - low.step)
    return (
        low.target_tokens + share * (high.target_tokens - low.target_tokens),
        low.seconds + share * (high.seconds - low.seconds),
    )


def thin(values: Sequence[float], limit: int = POINTS) -> list[int]:
    """Indices of at most `limit` values to keep: both ends, and the minimum and maximum of each bin."""
    if len(values) <= limit:
        return list(range(len(values)))
    n_bins = (limit - 2) // 2
    edges = [index * len(values) // n_bins for index in range(n_bins + 1)]
    kept = {0, len(values) - 1}
    for low, high in pairwise(edges):
        finite = [i for i in range(low, high) if math.isfinite(values[i])]
        if finite:
            kept |= {min(finite, key=values.__getitem__), max(finite, key=values.__getitem__)}
    return sorted(kept)
