"""Progress of a run: a live panel on a terminal, else log lines; and if enabled, event files for TensorBoard."""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from hark.config import Config
from hark.errors import HarkError, require
from hark.monitor.lines import lines, stop_line
from hark.monitor.view import View
from hark.rundir import RunDir
from hark.train.metrics import History, valid_records
from hark.train.records import DevRecord, Record, StartRecord, TrainRecord, TranslationSample


class Board:
    """A writer of event files, in addition to metrics.jsonl."""

    def __init__(self, folder: Path) -> None:
        require("tensorboard", "tensorboard", "train.tensorboard")
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        try:
            self.events: Any = EventFileWriter(str(folder), flush_secs=10)
        except OSError as error:
            raise HarkError(f"{folder}: cannot be written: {error.strerror}") from None

    def write(self, record: Record | TranslationSample) -> None:
        from tensorboard.compat.proto import event_pb2, summary_pb2

        if isinstance(record, StartRecord):
            # Makes TensorBoard discard what a killed process wrote about later steps.
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self.events.add_event(event_pb2.Event(wall_time=record.time, step=record.step + 1, session_log=start))
            return
        values = [summary_pb2.Summary.Value(tag=tag, simple_value=value) for tag, value in scalars(record)]
        if values:
            summary = summary_pb2.Summary(value=values)
            self.events.add_event(event_pb2.Event(wall_time=record.time, step=record.step, summary=summary))

    def __enter__(self) -> "Board":
        return self

    def __exit__(self, *_: object) -> None:
        self.events.close()


def scalars(record: Record | TranslationSample) -> Iterator[tuple[str, float]]:
    """The tags and values of a record."""
    if isinstance(record, TrainRecord):
        for name in ("loss", "nll", "rate", "grad_norm", "tokens_per_second", "fill", "memory_gib", "utilisation"):
            value = getattr(record, name)
            if value is not None:
                yield f"train/{name}", value
    elif isinstance(record, DevRecord):
        yield f"dev/{record.set}/nll", record.nll
        yield f"dev/{record.set}/perplexity", record.perplexity
        for name, value in record.scores.items():
            yield f"dev/{record.set}/{name}", value


PAUSE_SECONDS = 5.0  # between log lines about training


class Panel:
    """The progress of a run on stderr: `with Panel("name") as panel: panel.update(record)`."""

    def __init__(
        self, name: str, history: History | None = None, stream: TextIO | None = None, board: Board | None = None
    ) -> None:
        """`history`: the earlier records of a resumed run, so that its curve continues; `board`: also receives all."""
        self.stream, self.board = stream or sys.stderr, board
        self.name = name
        self.history = history or History()
        self.view = View(name)
        self.live: Any = None
        self.last_logged = -math.inf
        if is_terminal(self.stream):
            from rich.console import Console
            from rich.live import Live

            from hark.monitor.screen import Screen

            screen = Screen(lambda: self.view)
            self.live = Live(screen, console=Console(file=self.stream), refresh_per_second=2, vertical_overflow="crop")

    def update(self, record: Record | TranslationSample) -> None:
        if self.board is not None:
            self.board.write(record)
        if isinstance(record, StartRecord):
            self.view = View(self.name)
            for earlier in valid_records(self.history.records, record):
                self.view = self.view.after(earlier)
        self.view = self.view.after(record)
        if self.live is not None:  # redraws at its own rate, however many records arrive
            return
        if isinstance(record, TrainRecord):
            if record.time - self.last_logged < PAUSE_SECONDS and record.step != self.view.steps:
                return
            self.last_logged = record.time
        for line in lines(record, self.view):
            self.stream.write(line + "\n")
        self.stream.flush()

    def log(self, line: str) -> None:
        """Print a message. Thread-safe."""
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

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()
            stop = self.view.stopped
            if stop is not None and stop.reason != "failed":  # the command line prints the error
                self.stream.write(stop_line(stop) + "\n")


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def watch_run(config: Config, run: RunDir, history: History | None) -> Iterator[Panel]:
    """Show a run while it trains."""
    with ExitStack() as stack:
        board = stack.enter_context(Board(run.path / "tensorboard")) if config.train.tensorboard else None
        yield stack.enter_context(Panel(run.name, history, board=board))
