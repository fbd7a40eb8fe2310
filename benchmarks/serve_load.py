"""Load tests of `hark serve` on this machine, against the engine called without HTTP.

    python -m benchmarks.serve_load [--seconds 20] [--connections 1 8 64 256] [--json FILE]
    python -m benchmarks.serve_load --peer PORT [--seconds 20] [--connections 1 8 64 256] [--texts sentences]
    python -m benchmarks.serve_load --overload
    python -m benchmarks.serve_load --soak 30 [--connections 32] [--picture FILE.svg]

Requests per second and the latency at 50, 95 and 99% for single sentences (Tatoeba's test sentences that come with
hark) and for mixed sizes, a word to a page. Every text is sent once, so that nothing comes from a cache. The yardstick
translates the same texts in one process without a server, as many at a time, and has the reverse model check the same
sentences, so that the difference is the cost of HTTP. Both finish what they began. While other programs use the
machine, only the CPU times are comparable.

`--overload` sends more than a short queue takes; `--soak` sends mixed load with errors and hang-ups for many minutes,
and records the memory of the server. `--peer` compares with LibreTranslate's server, which must run on this port with
the same models (hark export --to argos), through its own API; the servers are measured in turn.
"""

import argparse
import asyncio
import json
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count, islice, product
from pathlib import Path
from typing import Any

from benchmarks.everyday import sample_set
from hark.machine import available_cores
from hark.models import shipped_folder
from hark.pages.charts import HEIGHT, WIDTH, Line, line_chart
from hark.pages.document import picture
from hark.translate.load import Loaded
from hark.translate.piece import Options
from hark.translate.translation import Translation

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


PAIR = ("en", "de")
CONNECTIONS = [1, 8, 64, 256]
KINDS = ["sentences", "mixed"]
"""Kinds of texts to compare with: single sentences, and texts of several sizes."""
SIZES = {"word": 0.2, "sentence": 0.5, "paragraph": 0.25, "page": 0.05}
"""Shares of the sizes of texts in mixed load."""
SENTENCES = {"paragraph": 5, "page": 40}
INTENDED = {200, 400, 413, 429, 503}
"""Statuses that a soak may see: answers and intended refusals."""


def sentences() -> Iterator[str]:
    """Test sentences without end. From the second round on, a number makes each of them new."""
    held_out = sample_set(PAIR[0]).sources
    for number in count():
        for each in held_out:
            yield re.sub(r"(\W*)$", rf" {number}\1", each, count=1) if number else each


def mixed(chance: random.Random) -> Iterator[str]:
    """Texts of several sizes."""
    rest, seen = sentences(), set[str]()
    words = (word for text in sentences() for word in text.split() if not (word in seen or seen.add(word)))  # type: ignore[func-returns-value]
    while True:
        size = chance.choices(list(SIZES), list(SIZES.values()))[0]
        yield next(words) if size == "word" else " ".join(islice(rest, SENTENCES.get(size, 1)))


def texts_of(kind: str) -> Iterator[str]:
    return sentences() if kind == "sentences" else mixed(random.Random(1))


@contextmanager
def server(*options: str) -> Iterator[int]:
    """Run a server in another process; yield its port when it is ready."""
    command = [sys.executable, "-m", "hark", "serve", "--port", "0", "--models", str(shipped_folder()), *options]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert running.stdout is not None
        found = re.search(r":(\d+)/", running.stdout.readline())
        if found is None:
            raise SystemExit("the server did not start; see hark serve")
        port = int(found[1])
        while asyncio.run(get(port, "/health/ready"))[0] != 200:
            time.sleep(0.05)
        yield port
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait()


async def get(port: int, path: str) -> tuple[int, bytes]:
    client = Client(port)
    try:
        return await client.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    finally:
        client.hang_up()


def run_engine(kind: str, in_flight: int, number: int) -> tuple[float, float]:
    """Texts per second, and milliseconds of CPU time per text, of the first `number` texts without HTTP."""
    loaded = Loaded.named("-".join(PAIR))
    translator, options = loaded.translator, Options(loaded.config.decode, source=PAIR[0], target=PAIR[1], urgent=True)
    loaded.translate(["We have exorcised the ghosts of the past."])  # loads the reverse model, too
    loaded.check([translator.translate("Hello.", options)], options)
    texts = islice(texts_of(kind), number)
    open_texts: list[Future[Translation]] = []
    to_check: list[Translation] = []
    checking: Future[list[Translation]] | None = None  # meanwhile, the engine goes on
    done, start, cpu = 0, time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(1) as checker:
        while done < number:
            if checking is not None and checking.done():
                done, checking = done + len(checking.result()), None
            to_check += [each.result() for each in open_texts if each.done()]
            open_texts = [each for each in open_texts if not each.done()]
            if to_check and checking is None:
                checking, to_check = checker.submit(loaded.check, to_check, options), []
            unfinished = len(open_texts) + len(to_check)
            open_texts += [translator.submit(text, options) for text in islice(texts, max(0, in_flight - unfinished))]
            translator.step()
            if not open_texts and checking is not None:
                checking.result()
        seconds, used = time.perf_counter() - start, time.process_time() - cpu
    loaded.close()
    return number / seconds, 1000 * used / number


Dialect = Callable[[str, str, str], bytes]


def warming() -> Iterator[str]:
    return (f"I have seen {each} birds." for each in count())


def send(port: int, dialect: Dialect, texts: Iterator[str], connections: int, seconds: float, *allowed: int) -> Load:
    """Send texts for a time; other statuses than 200 and those allowed are an error."""
    load = asyncio.run(run_load(port, (dialect(text, *PAIR) for text in texts), connections, seconds))
    check(load, {200, *allowed})
    return load


async def figure(port: int, name: str) -> float:
    """One of the server's metrics."""
    _, body = await get(port, "/metrics")
    found = re.search(rf"^{name} (\S+)", body.decode(), re.MULTILINE)
    assert found is not None, name
    return float(found[1])


def compare(kinds: list[str], connections: list[int], seconds: float) -> list[dict[str, Any]]:
    """Measure the server and the engine, one after the other for each number of connections."""
    rows = []
    print(f"{'':<22}  requests/s          CPU ms per request     latency in ms")
    print(f"{'texts':<10} {'connections':>11}    HTTP  engine cost     HTTP  engine cost      p50      p95      p99")
    for kind, number in product(kinds, connections):
        with server() as port:
            send(port, request_bytes, warming(), min(number, 8), seconds / 10)
            before = asyncio.run(figure(port, "process_cpu_seconds_total"))
            load = send(port, request_bytes, texts_of(kind), number, seconds)
            used = asyncio.run(figure(port, "process_cpu_seconds_total")) - before
        cpu = 1000 * used / max(1, load.statuses[200])  # milliseconds per request
        given = ["--engine", kind, str(number), str(load.statuses[200])]  # in a process of its own
        command = [sys.executable, "-m", "benchmarks.serve_load", *given]
        run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        rate, engine_cpu = map(float, run.stdout.split())
        percentiles = [round(load.percentile(each), 1) for each in (50, 95, 99)]
        cells = f"{load.rate:>7.1f} {rate:>7.1f} {1 - load.rate / rate:>4.0%} {cpu:>8.1f} {engine_cpu:>7.1f}"
        latencies = " ".join(f"{each:>8.1f}" for each in percentiles)
        print(f"{kind:<10} {number:>11} {cells} {cpu / engine_cpu - 1:>4.0%} {latencies}", flush=True)
        row = {"texts": kind, "connections": number, "rate": load.rate, "engine": rate, "milliseconds": percentiles}
        rows.append({**row, "cpu": cpu, "engine_cpu": engine_cpu})
    print(f"{available_cores()} cores, {seconds:g} s each")
    return rows


def compare_with_peer(peer: int, kinds: list[str], connections: list[int], seconds: float) -> None:
    """Measure this server and LibreTranslate's in turn, through LibreTranslate's API."""
    print(f"{'':<22}  requests/s                  latency in ms: p50      p95      p99")
    for kind, number in product(kinds, connections):
        loads: dict[str, Load] = {}
        for name in ("hark", "peer"):
            with server() if name == "hark" else nullcontext(peer) as port:
                send(port, libretranslate_bytes, warming(), min(number, 8), seconds / 10)
                loads[name] = send(port, libretranslate_bytes, texts_of(kind), number, seconds)
        for name, load in loads.items():
            percentiles = " ".join(f"{load.percentile(each):>8.1f}" for each in (50, 95, 99))
            ratio = f"{load.rate / loads['peer'].rate:.1f} times the peer" if name == "hark" else ""
            print(f"{kind:<10} {number:>4} {name} {load.rate:>9.1f}  {ratio:<20} {percentiles}", flush=True)


def overload(seconds: float) -> None:
    """Send far more than a short queue takes: refusals must be quick, and the server must recover."""
    with server("--max-queue", "16") as port:
        load = send(port, request_bytes, sentences(), 256, seconds, 503)
        print(f"256 connections, queue of 16: {dict(load.statuses)}; {load.rate:.1f} translations/s")
        print(f"refusals: p50 {load.percentile(50, 503):.1f} ms, p99 {load.percentile(99, 503):.1f} ms")
        after = send(port, request_bytes, sentences(), 1, seconds / 10)
        print(f"afterwards, 1 connection: {after.rate:.1f} requests/s, p50 {after.percentile(50):.1f} ms, no refusal")


def soak(minutes: float, connections: int, path: Path | None) -> None:
    """Mixed load with invalid requests and hang-ups for many minutes; the memory must stay flat."""
    chance, start = random.Random(2), time.perf_counter()
    memory: list[tuple[float, float]] = []

    def requests() -> Iterator[bytes]:
        for text in mixed(chance):
            bad = chance.random() < 0.05
            yield request_bytes("\0" if bad else text, *PAIR, nbest=chance.choice([1, 1, 1, 3]), align=bad)

    async def between() -> None:
        if not memory or time.perf_counter() - start - memory[-1][0] > minutes * 60 / 400:
            resident = await figure(port, "process_resident_memory_bytes")
            memory.append((time.perf_counter() - start, resident / (1 << 20)))
        hasty = Client(port)  # sends a page and hangs up
        hasty.reader, hasty.writer = await asyncio.open_connection("127.0.0.1", port)
        hasty.writer.write(request_bytes(" ".join(islice(sentences(), 40)), *PAIR))
        await hasty.writer.drain()
        hasty.hang_up()

    with server("--max-queue", "24") as port:
        load = asyncio.run(run_load(port, requests(), connections, minutes * 60, between))
        check(load, INTENDED)
    settled = memory[len(memory) // 6 :]
    print(f"{minutes:g} minutes, {connections} connections: {dict(load.statuses)}, {load.rate:.1f} translations/s")
    print(
        f"memory: {settled[0][1]:.0f} MiB after {settled[0][0] / 60:.1f} minutes, {settled[-1][1]:.0f} MiB at the end"
    )
    if path is not None:
        chart = line_chart(
            "Memory of hark serve", [Line(memory)], memory[-1][0] or 1.0, "MiB", "time", from_zero=True, time=True
        )
        path.write_text(picture("Memory of hark serve under mixed load", WIDTH, HEIGHT, chart))


def check(load: Load, allowed: set[int]) -> None:
    if load.broken or set(load.latencies) - allowed:
        raise SystemExit(f"unexpected answers: {dict(load.statuses)}, {load.broken} broken connections")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--connections", type=int, nargs="+", help="by default 1 8 64 256; 32 for a soak")
    parser.add_argument("--texts", choices=KINDS, nargs="+", default=KINDS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--peer", type=int, metavar="PORT")
    parser.add_argument("--overload", action="store_true")
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--engine", nargs=3, metavar=("TEXTS", "N", "NUMBER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.engine:
        print(*run_engine(given.engine[0], *map(int, given.engine[1:])))
    elif given.peer:
        compare_with_peer(given.peer, given.texts, given.connections or CONNECTIONS, given.seconds)
    elif given.overload:
        overload(given.seconds)
    elif given.soak:
        soak(given.soak, max(given.connections or [32]), given.picture)
    else:
        rows = compare(given.texts, given.connections or CONNECTIONS, given.seconds)
        if given.json:
            given.json.write_text(json.dumps({"cores": available_cores(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
