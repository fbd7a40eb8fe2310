"""Ctrl-C, SIGTERM and SIGHUP ask a run to save and end. A second one, and one before the first step, does not wait."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE = 2.0
"""Seconds for a run that is to end at once to do so by itself: one operation of torch may take a minute on a CPU, and
Python hears of no signal before it is over."""


def write_line(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


class Signals:
    """While it is entered, a signal is only remembered, and the loop looks at it between steps."""

    def __init__(self) -> None:
        self.received = 0
        self.worth_saving = False
        """Whether a step was taken. Before that a signal ends the run at once."""
        self.tell: Callable[[str], None] = write_line
        """How a person is told that the signal was heard."""
        self.before: dict[int, Any] = {}
        self.left = threading.Event()

    def __enter__(self) -> "Signals":
        reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        self.woken_before = signal.set_wakeup_fd(self.writer, warn_on_full_buffer=False)
        threading.Thread(target=self.watch, args=(reader,), daemon=True).start()
        for each in SIGNALS:
            if signal.getsignal(each) is not signal.SIG_IGN:  # as under nohup, which keeps a run from SIGHUP
                self.before[each] = signal.signal(each, self.remember)
        return self

    def remember(self, number: int, frame: FrameType | None) -> None:
        if self.worth_saving and not self.received:
            self.received = number
            return
        before = self.before[number]
        if callable(before):  # the command line's, which knows what to say and the exit code
            before(number, frame)
        raise KeyboardInterrupt

    def watch(self, reader: int) -> None:
        """Answer at once, in a thread of its own: the main one may be deep inside torch, and not hear of it yet."""
        heard = 0
        while number := int.from_bytes(os.read(reader, 1)):
            if number not in self.before:
                continue
            heard += 1
            if heard == 1 and self.worth_saving:
                self.tell("stopping: this step is finished and saved first; once more ends at once, unsaved")
            elif not self.left.wait(GRACE):
                leave(number)
        os.close(reader)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.left.set()
        for each, handler in self.before.items():
            signal.signal(each, handler)
        signal.set_wakeup_fd(self.woken_before)
        os.close(self.writer)


def leave(number: int) -> None:
    """End the process from another thread than the main one."""
    with suppress(OSError):
        if sys.stderr.isatty():
            sys.stderr.write("\x1b[?25h\n")  # a live panel hides the cursor
    write_line(f"hark: ended at once by {signal.Signals(number).name}; nothing was saved since the last checkpoint")
    os._exit(128 + number)
