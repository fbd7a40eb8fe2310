"""A light HTTP client for load tests: many connections, each with one request at a time, on plain asyncio streams."""

import asyncio
import json
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

HEAD = "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"


@dataclass
class Load:
    """What a load test saw."""

    seconds: float = 0.0
    latencies: dict[int, list[float]] = field(default_factory=dict)
    """Seconds of each answer, by status."""
    broken: int = 0
    """Connections that the server closed without an answer."""

    @property
    def statuses(self) -> Counter[int]:
        return Counter({status: len(each) for status, each in sorted(self.latencies.items())})

    @property
    def rate(self) -> float:
        """Successful requests per second."""
        return len(self.latencies.get(200, ())) / self.seconds

    def percentile(self, percent: int, status: int = 200) -> float:
        """Milliseconds within which this share of requests was answered."""
        values = self.latencies.get(status, [])
        if len(values) < 2:
            return 1000 * values[0] if values else float("nan")
        return 1000 * statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def request_bytes(text: str, source: str, target: str, **more: Any) -> bytes:
    """A request to the native API."""
    return post("/api/v1/translate", {"text": text, "source": source, "target": target, **more})


def libretranslate_bytes(text: str, source: str, target: str) -> bytes:
    """A request to LibreTranslate's API, which its own server speaks too."""
    return post("/translate", {"q": text, "source": source, "target": target})


def post(path: str, fields: dict[str, Any]) -> bytes:
    body = json.dumps(fields).encode()
    return HEAD.format(path=path, length=len(body)).encode() + body


class Client:
    """One connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Send a request and return the status and the body. Connects first if there is no connection."""
        if self.reader is None or self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(request)
        head = await self.reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        lowered = head.lower()
        start = lowered.index(b"content-length:") + 15
        body = await self.reader.readexactly(int(lowered[start : lowered.index(b"\r\n", start)]))
        if b"connection: close" in lowered:
            self.hang_up()
        return status, body

    def hang_up(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


async def run_load(
    port: int,
    requests: Iterator[bytes],
    connections: int,
    seconds: float,
    between: Callable[[], Awaitable[object]] | None = None,
) -> Load:
    """Keep connections busy with requests for a time. `between`, if given, is called once a second."""
    load = Load()
    start = time.perf_counter()
    end = start + seconds

    async def keep_sending() -> None:
        client, sent = Client(port), 0
        while (began := time.perf_counter()) < end or not sent:
            sent += 1
            try:
                status, _ = await client.send(next(requests))
            except (OSError, asyncio.IncompleteReadError):
                load.broken += 1
                client.hang_up()
                continue
            load.latencies.setdefault(status, []).append(time.perf_counter() - began)
        client.hang_up()

    async def watch() -> None:
        while between is not None and time.perf_counter() < end:
            await between()
            await asyncio.sleep(min(1.0, max(0.0, end - time.perf_counter())))

    await asyncio.gather(watch(), *(keep_sending() for _ in range(connections)))
    load.seconds = time.perf_counter() - start
    return load
