"""A structured log of all requests: one JSON object per line on stderr. It never contains text or keys of users."""

import json
import logging
import os
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hark.errors import HarkWarning
from hark.serve.figures import Figures

Level = Literal["info", "warning", "error"]
HUNG_UP = 499
"""The status in log and figures of a request whose client hung up, as in nginx."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
QUIET = ("/health/live", "/health/ready", "/metrics")
"""Routes that are polled: they are counted, but not logged unless they fail."""


class Log:
    """Writes events. Values must be numbers, or strings that no client can choose."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out

    def write(self, event: str, level: Level = "info", **values: Any) -> None:
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": time, "level": level, "event": event, **values}, ensure_ascii=True)
        out = self._out or sys.stderr
        with suppress(OSError, ValueError):  # a closed terminal must not stop the server
            out.write(line + "\n")
            out.flush()

    def write_failure(self, event: str, error: BaseException, **values: Any) -> None:
        """Write the kind of an error and the lines of code that raised it, without its message: it may quote text."""
        frames = traceback.extract_tb(error.__traceback__)[-8:]
        where = [f"{short_path(frame.filename)}:{frame.lineno}" for frame in frames]
        self.write(event, "error", error=type(error).__name__, where=where, **values)


def short_path(file: str) -> str:
    """The path of a file of code, without the folder that packages are installed in."""
    return file.rpartition("/site-packages/")[2]


class ServerLog(logging.Handler):
    """Passes on the warnings of all libraries, without their arguments, which may quote requests."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        message = record.msg.strip() if isinstance(record.msg, str) else type(record.msg).__name__
        if record.exc_info and record.exc_info[1] is not None:
            self._log.write_failure("server", record.exc_info[1], message=message)
        else:
            self._log.write("server", level, message=message)


@contextmanager
def everything_in(log: Log) -> Iterator[None]:
    """Write to the log what Python and libraries would otherwise write to stderr in formats of their own."""
    os.environ.setdefault("CT2_VERBOSE", "-3")  # CTranslate2's own log; its errors are raised as well

    def show_warning(message: Warning | str, category: type[Warning], file: str, line: int, *_: object) -> None:
        if issubclass(category, HarkWarning):
            log.write("warning", "warning", message=str(message))
        else:  # it may quote text
            log.write("warning", "warning", kind=category.__name__, where=[f"{short_path(file)}:{line}"])

    def note(lost: "threading.ExceptHookArgs | sys.UnraisableHookArgs") -> None:
        if lost.exc_value is not None and not isinstance(lost.exc_value, SystemExit):
            log.write_failure("failure", lost.exc_value)

    root, handler = logging.getLogger(), ServerLog(log)
    before = root.handlers[:]
    hooks = threading.excepthook, sys.unraisablehook
    root.handlers[:] = [handler]
    threading.excepthook = sys.unraisablehook = note
    with warnings.catch_warnings():
        warnings.showwarning = show_warning  # type: ignore[assignment]
        try:
            yield
        finally:
            root.handlers[:] = before
            threading.excepthook, sys.unraisablehook = hooks


class Observation:
    """Logs and counts requests by route. Paths are not logged: clients choose them."""

    def __init__(self, app: ASGIApp, log: Log, figures: Figures) -> None:
        self._app, self._log, self._figures = app, log, figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        start, status, size = time.perf_counter(), HUNG_UP, 0

        async def send_observed(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            size += len(message.get("body", b""))
            await send(message)

        self._figures.in_progress += 1
        try:
            await self._app(scope, receive, send_observed)
        finally:
            self._figures.in_progress -= 1
            seconds = time.perf_counter() - start
            route = scope.get("hark.route", "(unknown)")
            method = scope["method"] if scope["method"] in METHODS else "OTHER"
            self._figures.record(route, method, status, seconds)
            if route not in QUIET or status == 500:
                client, key = scope.get("client"), scope.get("state", {}).get("key")
                self._log.write(
                    "request",
                    method=method,
                    route=route,
                    status=status,
                    seconds=round(seconds, 4),
                    bytes=size,
                    client=client[0] if client else None,
                    **({"key": key} if key else {}),
                )
