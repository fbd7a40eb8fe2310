"""Progress reports on stderr: bars on a terminal, otherwise a line every few seconds."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

PAUSE_SECONDS = 15.0  # between lines without a terminal


class Progress(Protocol):
    """Callback with the stage, the pairs done, and the share of the stage done (None if unknown)."""

    def __call__(self, stage: str, pairs: int, share: float | None) -> None: ...


def silent(stage: str, pairs: int, share: float | None) -> None:
    """Report nothing."""


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Yield a callback that shows progress on stderr, as bars or lines."""
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
    """Progress bars, one per stage; a bar fills up when the next stage starts."""

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
    """Progress lines: one when a stage starts, then one every few seconds."""

    def __init__(self) -> None:
        self.stage, self.start, self.last_report = "", 0.0, 0.0

    def __call__(self, stage: str, pairs: int, share: float | None) -> None:
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.start, self.last_report = stage, now, now
            write_line(stage)
        elif now - self.last_report >= PAUSE_SECONDS:
            self.last_report, elapsed = now, now - self.start
            done = f"{share:.0%}, " if share is not None else ""
            left = f", {elapsed * (1 - share) / share:.0f} s left" if share else ""
            rate = f"{pairs:,} pairs, {pairs / elapsed:,.0f} per second" if pairs else f"{elapsed:.0f} s"
            write_line(f"{stage}: {done}{rate}{left}")


def write_line(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
