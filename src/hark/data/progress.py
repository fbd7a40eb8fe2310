"""How far a long piece of work has come, told to a person on stderr: bars on a terminal, else a line now and then."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

PAUSE = 15.0  # seconds between lines where there is no terminal


class Progress(Protocol):
    """Told what is being done, how many pairs are done, and what share of the stage that is (none: unknown)."""

    def __call__(self, stage: str, pairs: int, share: float | None) -> None: ...


def silent(stage: str, pairs: int, share: float | None) -> None:
    """For those who want to hear nothing."""


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Progress on stderr, in the form that suits it."""
    if not sys.stderr.isatty():
        yield ProgressLines()
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description:<20}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[rate]:>15}"),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True)) as bars:
        shown = Bars(bars)
        yield shown
        shown.fill()


class Bars:
    """A bar for each stage; one is full when the next begins."""

    def __init__(self, bars: Any) -> None:
        self.bars, self.stage, self.bar, self.start = bars, "", 0, 0.0

    def __call__(self, stage: str, pairs: int, share: float | None) -> None:
        if stage != self.stage:
            if self.stage:
                self.fill()
            self.stage, self.start = stage, time.monotonic()
            self.bar = self.bars.add_task(stage, total=None, rate="")
        rate = pairs / max(time.monotonic() - self.start, 1e-3)
        self.bars.update(
            self.bar,
            total=None if share is None else 1.0,
            completed=share or 0.0,
            rate=f"{rate:,.0f} pairs/s" if pairs else "",
        )

    def fill(self) -> None:
        self.bars.update(self.bar, total=1.0, completed=1.0)


class ProgressLines:
    """A line when a stage begins, and then one every few seconds."""

    def __init__(self) -> None:
        self.stage, self.start, self.told = "", 0.0, 0.0

    def __call__(self, stage: str, pairs: int, share: float | None) -> None:
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.start, self.told = stage, now, now
            tell(stage)
        elif now - self.told >= PAUSE:
            self.told, passed = now, now - self.start
            done = f"{share:.0%}, " if share is not None else ""
            left = f", {passed * (1 - share) / share:.0f} s left" if share else ""
            rate = f"{pairs:,} pairs, {pairs / passed:,.0f} a second" if pairs else f"{passed:.0f} s"
            tell(f"{stage}: {done}{rate}{left}")


def tell(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
