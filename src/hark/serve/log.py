"""A structured log: one JSON object per line on stderr. It never contains text, keys or queries of users."""

import json
import logging
import sys
import traceback
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

Level = Literal["info", "warning", "error"]


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
        where = [f"{frame.filename.rpartition('/site-packages/')[2]}:{frame.lineno}" for frame in frames]
        self.write(event, "error", error=type(error).__name__, where=where, **values)


class ServerLog(logging.Handler):
    """Passes on the warnings of uvicorn and asyncio, without their arguments, which may quote requests."""

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
