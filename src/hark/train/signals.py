"""Ctrl-C and SIGTERM ask a run to save and end. A second one does not wait."""

import signal
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """While it is entered, signals are only remembered, and the loop looks at them between steps."""

    def __init__(self) -> None:
        self.received = 0
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Signals":
        self.before = {each: signal.signal(each, self.remember) for each in SIGNALS}
        return self

    def remember(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.received:
            raise KeyboardInterrupt
        self.received = number

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each, handler in self.before.items():
            signal.signal(each, handler)
