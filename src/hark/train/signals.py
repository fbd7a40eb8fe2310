"""Ctrl-C, SIGTERM and SIGHUP ask a run to save and end. A second one does not wait."""

import signal
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """While it is entered, signals are only remembered, and the loop looks at them between steps."""

    def __init__(self) -> None:
        self.received = 0
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Signals":
        for each in SIGNALS:
            if signal.getsignal(each) is not signal.SIG_IGN:  # as under nohup, which keeps a run from SIGHUP
                self.before[each] = signal.signal(each, self.remember)
        return self

    def remember(self, number: int, frame: FrameType | None) -> None:
        if not self.received:
            self.received = number
            return
        before = self.before[signal.Signals(number)]
        if callable(before):  # the command line's, which knows what to say and the exit code
            before(number, frame)
        raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each, handler in self.before.items():
            signal.signal(each, handler)
