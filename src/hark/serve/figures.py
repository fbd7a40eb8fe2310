"""Figures for Prometheus at /metrics."""

import os
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from hark.serve.running import RunningModel
from hark.serve.service import Service

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the latency histogram, in seconds."""
FILL = "Sentences in the batches of each step; divided by the steps, the mean fill of batches."
OF_MODELS: tuple[tuple[str, str, Callable[[RunningModel], int], str], ...] = (
    ("open_texts", "gauge", lambda model: model.open, "Texts that are not finished."),
    ("queued_sentences", "gauge", lambda model: model.queued, "Sentences that wait for the engine."),
    ("decoding_sentences", "gauge", lambda model: model.decoding, "Sentences that the engine is decoding."),
    ("engine_steps_total", "counter", lambda model: model.steps, "Steps of the engine."),
    ("engine_step_sentences_total", "counter", lambda model: model.step_sentences, FILL),
)
"""Figures of each loaded model: name, kind, how to read it, and its meaning."""


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
