"""Signals that ask the command line to end: Ctrl-C, SIGTERM (kill, a shutdown) and SIGHUP (the terminal was closed)."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "the terminal was closed"}
"""What a person, or a log, is told."""


class Interrupted(KeyboardInterrupt):
    """One of these signals, raised where it arrives, so that whatever is half made is removed on the way out."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(number)
        self.number = number


class Interrupts:
    """While it is entered, these signals raise `Interrupted`, unless they are ignored, as under nohup.

    It remembers the first: one that comes while a module written in C is loaded is turned by some into an error of
    their own, with or without a cause. Further ones do not disturb the clean-up, but for Ctrl-C by an impatient person.
    """

    def __init__(self) -> None:
        self.received = 0
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in WORDS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self.before[number] = signal.signal(number, self.handle)
        return self

    def handle(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.received and number != signal.SIGINT:
            return
        self.received = self.received or number
        raise Interrupted(self.received)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)


def describe_interrupt(number: int) -> tuple[str, int]:
    """A line about the signal that ended the work, and the exit code; a plain KeyboardInterrupt has no number."""
    ended_by = signal.Signals(number or signal.SIGINT)
    return WORDS[ended_by], 128 + ended_by


def leave_at_once(interrupt: KeyboardInterrupt) -> NoReturn:
    """After Ctrl-C or its like: CTranslate2's workers cannot be stopped within a batch, and Python would wait for
    them."""
    line, status = describe_interrupt(getattr(interrupt, "number", 0))
    with suppress(OSError):  # the terminal, or who reads, may be gone
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"hark: {line}\n")
        sys.stderr.flush()
    os._exit(status)
