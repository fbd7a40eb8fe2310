"""What operators see of a server: a log of requests, one JSON object per line on stderr, and figures for Prometheus.

Neither ever contains text or keys of users.
"""

import json
import logging
import os
import sys
import threading
import time
import traceback
import warnings
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TextIO

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hark.errors import HarkWarning
from hark.serve.running import ModelThread
from hark.serve.service import Service

Level = Literal["info", "warning", "error"]
HUNG_UP = 499
"""The status in log and figures of a request whose client hung up, as in nginx."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
QUIET = ("/health/live", "/health/ready", "/metrics")
"""Routes that are polled: they are counted, but not logged unless they fail."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the latency histogram, in seconds."""
FILL = "Sentences in the batches of each step; divided by the steps, the mean fill of batches."
OF_MODELS: tuple[tuple[str, str, Callable[[ModelThread], int], str], ...] = (
    ("open_texts", "gauge", lambda model: model.open, "Texts that are not finished."),
    ("queued_sentences", "gauge", lambda model: model.queued, "Sentences that wait for the engine."),
    ("decoding_sentences", "gauge", lambda model: model.decoding, "Sentences that the engine is decoding."),
    ("engine_steps_total", "counter", lambda model: model.steps, "Steps of the engine."),
    ("engine_step_sentences_total", "counter", lambda model: model.step_sentences, FILL),
)
"""Figures of each loaded model: name, kind, how to read it, and its meaning."""


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


class Figures:
    """Counts requests and their latency. `text` adds the figures of a service."""

    def __init__(self) -> None:
        self._start = time.time()
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._latency: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = defaultdict(float)
        self.in_progress = 0
        """Requests that are not answered yet."""

    def record(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request. `route` is a template, so that clients cannot make any number of them."""
        self._requests[route, method, status] += 1
        counts = self._latency.setdefault(route, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] += seconds

    def text(self, service: Service) -> str:
        """All figures in Prometheus's text format."""
        return "\n".join((*self._of_requests(), *of_service(service), *of_process(self._start), ""))

    def _of_requests(self) -> Iterator[str]:
        yield from heading("hark_requests_total", "counter", "Answered requests.")
        for (route, method, status), count in sorted(self._requests.items()):
            yield f'hark_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
        yield from figure("hark_requests_in_progress", "gauge", "Requests that are not answered yet.", self.in_progress)
        yield from heading("hark_request_seconds", "histogram", "Time to answer a request.")
        for route, counts in sorted(self._latency.items()):
            total = 0
            for bound, count in zip((*map(str, BUCKETS), "+Inf"), counts, strict=True):
                total += count
                yield f'hark_request_seconds_bucket{{route="{route}",le="{bound}"}} {total}'
            yield f'hark_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}'
            yield f'hark_request_seconds_count{{route="{route}"}} {total}'


def of_service(service: Service) -> Iterator[str]:
    counts = service.counts
    yield from figure("hark_texts_total", "counter", "Translated texts.", counts.texts)
    yield from figure("hark_characters_total", "counter", "Characters of translated texts.", counts.characters)
    tokens = "Tokens of translations; their rate is tokens per second."
    yield from figure("hark_tokens_total", "counter", tokens, counts.tokens)
    generated = "Tokens of texts that continue prompts."
    yield from figure("hark_generated_tokens_total", "counter", generated, counts.generated)
    yield from figure("hark_embedded_texts_total", "counter", "Texts that became vectors.", counts.embedded)
    joined = "Requests that were joined with an identical one in flight."
    yield from figure("hark_joined_requests_total", "counter", joined, counts.joined)
    yield from figure("hark_cancelled_requests_total", "counter", "Requests whose clients hung up.", counts.cancelled)
    yield from figure("hark_jobs", "gauge", "Requests that are being translated or wait for it.", service.jobs)
    yield from figure("hark_queued_characters", "gauge", "Characters of these requests.", service.characters)
    yield from figure("hark_models_loaded", "gauge", "Loaded models.", len(service.shelf.running))
    for name, kind, value_of, meaning in OF_MODELS:
        yield from heading(f"hark_{name}", kind, meaning)
        for running in service.shelf.running:
            yield f'hark_{name}{{model="{running.name}"}} {value_of(running)}'


def of_process(start: float) -> Iterator[str]:
    cpu, memory = f"{time.process_time():.2f}", resident_memory()
    yield from figure("process_start_time_seconds", "gauge", "When the server was started.", f"{start:.3f}")
    yield from figure("process_cpu_seconds_total", "counter", "CPU time of the server.", cpu)
    if memory is not None:
        yield from figure("process_resident_memory_bytes", "gauge", "Memory of the server.", memory)


def figure(name: str, kind: str, meaning: str, value: int | str) -> Iterator[str]:
    yield from heading(name, kind, meaning)
    yield f"{name} {value}"


def heading(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"


def resident_memory() -> int | None:
    """Bytes of memory that this process occupies; None if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


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
