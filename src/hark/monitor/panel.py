"""What a person sees while a run goes on: one live panel in a terminal, else plain lines. On stderr."""

import math
import os
import sys
from contextlib import suppress
from types import TracebackType
from typing import Any, TextIO

from hark.monitor.lines import lines, stop_words
from hark.monitor.screen import Screen
from hark.monitor.view import View
from hark.train.metrics import History, valid_records
from hark.train.records import Record, StartRecord, TrainRecord, TranslationSample

PAUSE = 5.0  # seconds between plain lines about training


class Panel:
    """Follows a run: `with Panel("name") as panel: panel.update(record)`."""

    def __init__(self, name: str, history: History | None = None, stream: TextIO | None = None) -> None:
        """`history`: what a resumed run has told before, so that its curve goes on where it was."""
        self.stream = stream or sys.stderr
        self.name = name
        self.history = history or History()
        self.view = View(name)
        self.live: Any = None
        self.told = -math.inf
        if is_terminal(self.stream):
            from rich.console import Console
            from rich.live import Live

            screen = Screen(lambda: self.view)
            self.live = Live(screen, console=Console(file=self.stream), refresh_per_second=2, vertical_overflow="crop")

    def update(self, record: Record | TranslationSample) -> None:
        if isinstance(record, StartRecord):
            self.view = View(self.name)
            for each in valid_records(self.history.records, record):
                self.view = self.view.after(each)
        self.view = self.view.after(record)
        if self.live is not None:  # it looks at the view by itself, so that no rate of records can make drawing dear
            return
        if isinstance(record, TrainRecord):
            if record.time - self.told < PAUSE and record.step != self.view.steps:
                return
            self.told = record.time
        for line in lines(record, self.view):
            self.stream.write(line + "\n")
        self.stream.flush()

    def say(self, line: str) -> None:
        """Tell a person something that is no record, in any thread."""
        with suppress(OSError):  # the terminal may be gone
            if self.live is not None:
                self.live.console.print(line, markup=False, highlight=False)
            else:
                self.stream.write(line + "\n")
                self.stream.flush()

    def __enter__(self) -> "Panel":
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live is not None:
            self.live.stop()
            stop = self.view.stopped
            if stop is not None and stop.reason != "failed":  # the command line says why it failed
                self.stream.write(stop_words(stop) + "\n")


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"
