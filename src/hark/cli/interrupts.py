"""Handling of SIGINT (Ctrl-C), SIGTERM (kill, a shutdown) and SIGHUP (the terminal was closed)."""

import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, NoReturn, Self

MESSAGES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "the terminal was closed"}


class Interrupted(KeyboardInterrupt):
    """Raised where a signal arrives, so that partial output is cleaned up as the stack unwinds."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(number)
        self.number = number


class Interrupts:
    """A context in which signals raise `Interrupted`. Ignored signals stay ignored, as under nohup.

    Records the first signal: some C extensions turn an interrupt during import into an error of their own. Later
    signals do not disturb the clean-up, except Ctrl-C. A signal whose exception Python ignores is sent again.
    """

    def __init__(self) -> None:
        self.received = 0
        self.awaited = False
        """Whether a signal that is sent again has yet to arrive."""
        self.ended = False
        self.before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self.hook_before, sys.unraisablehook = sys.unraisablehook, self.send_again
        for number in MESSAGES:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self.before[number] = signal.signal(number, self.handle)
        return self

    def handle(self, number: int, frame: FrameType | None) -> None:
        self.awaited = False
        if self.received and number != signal.SIGINT:
            return
        if self.is_hook(frame):  # Python would ignore it there, too; the thread sends it again
            return
        self.received = self.received or number
        raise Interrupted(self.received)

    def send_again(self, ignored: "sys.UnraisableHookArgs") -> None:
        """Send a signal again if Python ignored its exception, as it does in destructors and in callbacks of weak
        references; every import runs such a callback. A thread sends it, so that it arrives after the callback."""
        if not isinstance(ignored.exc_value, Interrupted):
            self.hook_before(ignored)
            return
        from threading import Thread  # rarely needed

        self.received = 0
        Thread(target=self.repeat, args=(ignored.exc_value.number,), daemon=True).start()  # does not delay the exit

    def repeat(self, number: int) -> None:
        """Send a signal until it is not ignored; never a second one before the first has arrived."""
        time.sleep(0.01)
        while not self.received and not self.ended:
            self.awaited = True
            os.kill(os.getpid(), number)
            while self.awaited and not self.ended:
                time.sleep(0.01)

    def is_hook(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code is Interrupts.send_again.__code__:
                return True
            frame = frame.f_back
        return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended = True
        sys.unraisablehook = self.hook_before
        for number, handler in self.before.items():
            signal.signal(number, handler)


def describe_interrupt(number: int) -> tuple[str, int]:
    """The message and exit code for a signal; 0, as of a plain KeyboardInterrupt, means SIGINT."""
    received = signal.Signals(number or signal.SIGINT)
    return MESSAGES[received], 128 + received


def leave_at_once(interrupt: KeyboardInterrupt) -> NoReturn:
    """Exit without waiting for CTranslate2's workers, which cannot be stopped within a batch."""
    message, status = describe_interrupt(getattr(interrupt, "number", 0))
    with suppress(OSError):  # the terminal or the reader may be gone
        sys.stdout.flush()
    with suppress(OSError):
        sys.stderr.write(f"hark: {message}\n")
        sys.stderr.flush()
    os._exit(status)
