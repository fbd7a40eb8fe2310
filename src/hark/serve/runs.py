"""Training runs in a folder: their list, their metrics and samples as a stream of events, the attention of samples.

One stream carries any number of runs: a browser opens few connections to a server.
"""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from hark.errors import HarkError, UserError, require
from hark.serve.bodies import Refusal
from hark.serve.service import Service
from hark.serve.settings import ServeSettings

if TYPE_CHECKING:
    from hark.monitor.follower import News, RunFollower, RunList
    from hark.monitor.overview import Overview
    from hark.rundir import RunDir
    from hark.train.records import DevRecord, TrainRecord, TranslationSample

PAUSE = 1.0  # seconds between two looks at the files
LIST_EVERY = 5  # looks between two lists of the folder, which may be large
ALIVE_EVERY = 15  # looks between two comments, so that proxies keep the connection
MAX_RUNS = 20  # in one stream
MAX_POINTS = 4000  # of a training curve
MAX_WAITING = 20  # requests for attention: each reads a checkpoint
COLUMNS = ("step", "loss", "nll", "rate", "grad_norm", "tokens_per_second", "target_tokens", "seconds")

Message = tuple[str, dict[str, Any]]
"""The name of an event and its data."""


def routes(service: Service, settings: ServeSettings) -> list[Route]:
    """None without a folder of runs."""
    folder = settings.runs
    if folder is None:
        return []
    require("torch", "train", "hark serve --runs")  # hark.train needs it, although nothing here imports it

    async def get_runs(_: Request) -> Response:
        found = await run_in_threadpool(lambda: [describe(overview) for overview in listing(folder).read()])
        return JSONResponse({"runs": found})

    async def get_metrics(request: Request) -> Response:
        return await stream(folder, [request.path_params["name"]], service.stopping)

    async def watch_runs(request: Request) -> Response:
        return await stream(folder, request.query_params.getlist("run"), service.stopping)

    return [
        Route("/api/v1/runs", get_runs),
        Route("/api/v1/runs/watch", watch_runs),
        Route("/api/v1/runs/{name:path}/metrics", get_metrics),
    ]


async def stream(folder: Path, names: Sequence[str], stopping: asyncio.Event) -> Response:
    """The events of some runs: `runs`, `history`, `records`, `samples` and `gone`."""
    if len(names) > MAX_RUNS:
        raise Refusal(400, f"at most {MAX_RUNS} runs at a time")
    watched = await run_in_threadpool(WatchedRuns, folder, names)
    if unknown := watched.unknown:
        raise Refusal(404, f"no run {unknown[0]} in {folder.name}")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events(watched, stopping), media_type="text/event-stream", headers=headers)


async def events(watched: "WatchedRuns", stopping: asyncio.Event) -> AsyncIterator[str]:
    """Server-sent events, until the client hangs up or the server stops."""
    look = 0
    while not stopping.is_set():
        messages = await run_in_threadpool(lambda: list(watched.look()))
        for name, data in messages:
            yield f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n"
        look += 1
        if not messages and look % ALIVE_EVERY == 0:
            yield ": waiting\n\n"
        with suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), PAUSE)


class WatchedRuns:
    """Some runs of a folder, and what has been sent of them. Reads the disk, so it is used in a thread."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        from hark.monitor.follower import RunFollower
        from hark.rundir import RunDir

        self.list = listing(folder)
        self.looks = 0
        self.listed: list[dict[str, Any]] | None = None
        known = {overview.name: overview.path for overview in self.list.read()}
        self.unknown = [name for name in names if name not in known]  # names are compared, never used as paths
        self.followers: list[RunFollower] = [
            RunFollower(RunDir(known[name]), name) for name in dict.fromkeys(names) if name in known
        ]

    def look(self) -> Iterator[Message]:
        """What is new."""
        if self.looks % LIST_EVERY == 0:
            found = [describe(overview) for overview in self.list.read()]
            if found != self.listed:
                self.listed = found
                yield "runs", {"runs": found}
        self.looks += 1
        for follower in list(self.followers):
            try:
                yield from news_of(follower)
            except UserError as error:
                self.followers.remove(follower)
                yield "gone", {"run": follower.name, "message": str(error)}


def find_run(folder: Path, name: str) -> "RunDir":
    """The run of a name. Names are compared with the list, never used as paths."""
    from hark.rundir import RunDir

    for overview in listing(folder).read():
        if overview.name == name:
            return RunDir(overview.path)
    raise Refusal(404, f"no run {name} in {folder.name}")


def listing(folder: Path) -> "RunList":
    from hark.monitor.follower import RunList

    return RunList(folder)


def news_of(follower: "RunFollower") -> Iterator[Message]:
    name = follower.name
    if (news := follower.news()) is not None:
        values = {"run": name, "checkpoints": follower.run.saved_steps}
        yield ("history", values | history_of(news)) if news.whole else ("records", values | records_of(news))
    if (samples := follower.new_samples()) is not None:
        yield "samples", {"run": name, "samples": by_source(samples)}


def history_of(news: "News") -> dict[str, Any]:
    """The whole run, with curves thinned to what a screen can show."""
    from hark.monitor.curves import thin

    train = news.history.train
    kept = [train[i] for i in thin([record.loss for record in train], MAX_POINTS)]
    return {**about(news), "train": columns(kept), "dev": [dev_point(record) for record in news.history.dev]}


def records_of(news: "News") -> dict[str, Any]:
    from hark.train.records import DevRecord, TrainRecord

    train = [record for record in news.added if isinstance(record, TrainRecord)]
    dev = [dev_point(record) for record in news.added if isinstance(record, DevRecord)]
    return {**about(news), "train": columns(train), "dev": dev}


def about(news: "News") -> dict[str, Any]:
    return {"overview": describe(news.overview), "unreadable": news.history.unreadable}


def columns(records: "Sequence[TrainRecord]") -> dict[str, list[Any]]:
    return {name: [finite(getattr(record, name)) for record in records] for name in COLUMNS}


def dev_point(record: "DevRecord") -> dict[str, Any]:
    return {name: finite(getattr(record, name)) for name in ("step", "set", "nll", "best", "scores")}


def by_source(samples: "Iterable[TranslationSample]") -> list[dict[str, Any]]:
    """Samples grouped by their source sentence, with the translations by step."""
    found: dict[str, dict[str, Any]] = {}
    for sample in samples:
        new = {"source": sample.source, "reference": sample.reference, "translations": []}
        group = found.setdefault(sample.source, new)
        group["translations"].append({"step": sample.step, "text": sample.translation})
    return list(found.values())


def describe(overview: "Overview") -> dict[str, Any]:
    """A run for the list: everything but its path."""
    values = {name: finite(value) for name, value in asdict(overview).items() if name != "path"}
    if overview.state == "unreadable":  # its message has the path
        values["message"] = "metrics.jsonl cannot be read"
    return values


def finite(value: Any) -> Any:
    """A value for JSON, which has no NaN."""
    if isinstance(value, dict):
        return {name: finite(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def attention_routes(service: Service, settings: ServeSettings) -> list[Route]:  # noqa: ARG001
    """The cross-attention of a sample at a checkpoint, which needs torch; none without a folder of runs."""
    folder = settings.runs
    if folder is None:
        return []
    reader = ThreadPoolExecutor(1, "hark attention")
    waiting = 0

    async def get_attention(request: Request) -> Response:
        nonlocal waiting
        given = request.query_params
        name, step, sentence = given.get("run", ""), number(given, "step"), number(given, "sentence")
        if waiting > MAX_WAITING:
            raise Refusal(503, "too many requests are waiting; try again", 5)
        waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return JSONResponse(await loop.run_in_executor(reader, compute, folder, name, step, sentence))
        finally:
            waiting -= 1

    return [Route("/api/v1/runs/attention", get_attention)]


def number(given: Any, name: str) -> int:
    text = given.get(name, "")
    if not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise Refusal(400, f"{name} must be a number")
    return int(text)


def compute(folder: Path, name: str, step: int, sentence: int) -> dict[str, Any]:
    """Read a checkpoint and run the sample through it."""
    from hark.inspect.checkpoints import attention_at
    from hark.train.metrics import read_samples

    run = find_run(folder, name)
    pairs = list(dict.fromkeys((sample.source, sample.reference) for sample in read_samples(run.samples)))
    if sentence >= len(pairs):
        raise Refusal(404, f"{name} has {len(pairs)} samples")
    if step not in run.saved_steps:
        raise Refusal(404, f"{name}: the checkpoint of step {step:,} is gone; a run keeps its last train.keep_last")
    try:
        found = attention_at(run, step, *pairs[sentence])
    except UserError as error:
        raise Refusal(409, f"{name}: the attention of step {step:,} cannot be computed") from error
    except HarkError as error:
        raise Refusal(500, str(error)) from error
    weights = [[round(float(weight), 3) for weight in row] for row in found.weights_TS]
    return {"step": step, "source": found.source, "target": found.target, "weights": weights}
