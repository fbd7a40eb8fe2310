"""Signal handling: SIGINT, SIGTERM and SIGHUP save and stop a run; a second signal quits at once."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_SECONDS = 2.0
"""Before a run that should quit at once is forced to. A single torch operation can take a minute on a CPU, and
Python runs no signal handler until it returns."""


def write_line(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


class Signals:
    """A context in which the first signal is stored in `received`, which the training loop checks between steps."""

    def __init__(self) -> None:
        self.received = 0
        self.worth_saving = False
        """Whether a step was taken. Before that, a signal quits at once."""
        self.notify: Callable[[str], None] = write_line
        """Shows the user that the signal was received."""
        self.previous: dict[int, Any] = {}
        self.exited = threading.Event()

    def __enter__(self) -> "Signals":
        reader, self.writer = os.pipe()
        os.set_blocking(self.writer, False)
        self.previous_fd = signal.set_wakeup_fd(self.writer, warn_on_full_buffer=False)
        threading.Thread(target=self.watch, args=(reader,), daemon=True).start()
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as SIGHUP is under nohup
                self.previous[number] = signal.signal(number, self.handle)
        return self

    def handle(self, number: int, frame: FrameType | None) -> None:
        if self.worth_saving and not self.received:
            self.received = number
            return
        previous = self.previous[number]
        if callable(previous):  # the handler of the CLI, which sets the message and the exit code
            previous(number, frame)
        raise KeyboardInterrupt

    def watch(self, reader: int) -> None:
        """Respond to signals in a separate thread: the main thread may be inside a long torch operation."""
        count = 0
        while number := int.from_bytes(os.read(reader, 1)):
            if number not in self.previous:
                continue
            count += 1
            if count == 1 and self.worth_saving:
                self.notify("stopping: finishing and saving this step; a second signal quits at once without saving")
            elif not self.exited.wait(GRACE_SECONDS):
                quit_now(number)
        os.close(reader)

    def __exit__(self, *_: object) -> None:
        self.exited.set()
        for number, handler in self.previous.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self.previous_fd)
        os.close(self.writer)


def quit_now(number: int) -> None:
    """Exit the process from a thread other than the main one."""
    with suppress(OSError):
        if sys.stderr.isatty():
            sys.stderr.write("\x1b[?25h\n")  # a live panel hides the cursor
    write_line(f"hark: killed by {signal.Signals(number).name}; steps since the last checkpoint are lost")
    os._exit(128 + number)
