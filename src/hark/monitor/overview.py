"""Summaries of runs, and the search for runs in a folder."""

import math
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hark.errors import UserError
from hark.rundir import RunDir
from hark.train.metrics import History, read_metrics
from hark.train.records import DevRecord

State = Literal["running", "finished", "interrupted", "failed", "killed", "unreadable"]
MAX_DEPTH = 4  # levels of folders to search


@dataclass(frozen=True)
class BestResult:
    """The best dev result of a run: its first score, or the negative log-likelihood if it has no scores."""

    name: str
    value: float
    set: str
    step: int


@dataclass(frozen=True)
class Overview:
    """A run as listed by `hark runs`."""

    name: str
    path: Path
    state: State
    step: int = 0
    steps: int | None = None
    loss: float | None = None
    best: BestResult | None = None
    tokens_per_second: float | None = None
    target_tokens: int = 0
    seconds: float = 0.0
    time: float | None = None  # of the last record
    message: str = ""


def describe_run(run: RunDir, name: str, history: History) -> Overview:
    last = history.last
    return Overview(
        name=printable(name),
        path=run.path,
        state=state_of(run, history),
        step=history.step,
        steps=history.steps,
        loss=last.loss if last and math.isfinite(last.loss) else None,
        best=best_of(history.best),
        tokens_per_second=last.tokens_per_second if last else None,
        target_tokens=last.target_tokens if last else 0,
        seconds=last.seconds if last else 0.0,
        time=history.time,
        message=history.stopped.message if history.stopped else "",
    )


def printable(name: str) -> str:
    """Replace characters in a folder's name that terminals and pages cannot show."""
    return "".join(char if char.isprintable() else "?" for char in name)


def state_of(run: RunDir, history: History) -> State:
    """The state of a run. Without a live process and without a stop record, it was killed."""
    if run.in_use:
        return "running"
    if history.stopped is None:
        return "killed"
    match history.stopped.reason:
        case "finished" | "early":
            return "finished"
        case "interrupted":
            return "interrupted"
        case _:
            return "failed"


def best_of(dev: DevRecord | None) -> BestResult | None:
    if dev is None:
        return None
    name, value = next(iter(dev.scores.items()), ("nll", dev.nll))
    return BestResult(name, value, dev.set, dev.step)


def overviews(folder: Path) -> list[Overview]:
    """The runs in a folder, the most recently active first."""
    return latest_first(read_overview(run, folder) for run in find_runs(folder))


def read_overview(run: RunDir, folder: Path) -> Overview:
    """Read a run, which is named by its path in the folder."""
    name = run.name if run.path == folder else str(run.path.relative_to(folder))
    try:
        return describe_run(run, name, read_metrics(run.metrics))
    except UserError as error:
        return Overview(printable(name), run.path, "unreadable", message=str(error))


def latest_first(found: Iterable[Overview]) -> list[Overview]:
    return sorted(found, key=lambda run: (-(run.time or 0.0), run.name))


def find_runs(folder: Path, depth: int = MAX_DEPTH) -> Iterator[RunDir]:
    run = RunDir(folder)
    if run.exists and run.metrics.exists():
        yield run
        return
    if depth:
        try:
            children = sorted(folder.iterdir())
        except OSError:  # no permission to read it
            return
        for child in children:
            with suppress(OSError):
                if child.is_dir() and not child.name.startswith("."):
                    yield from find_runs(child, depth - 1)


def size_on_disk(folder: Path) -> int:
    """The size of all files in bytes, hard links counted once. Files may disappear while the run continues."""
    sizes: dict[tuple[int, int], int] = {}
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                info = os.lstat(os.path.join(root, name))
                sizes[info.st_dev, info.st_ino] = info.st_size
    return sum(sizes.values())
