"""The cross-attention of a run's sample at one of its checkpoints: GET /api/v1/runs/attention. Needs torch."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hark.errors import HarkError, UserError
from hark.serve.bodies import Refusal
from hark.serve.runs import find_run
from hark.serve.service import Service
from hark.serve.settings import ServeSettings

MAX_WAITING = 20
"""Requests that wait: each reads a checkpoint."""


def routes(service: Service, settings: ServeSettings) -> list[Route]:  # noqa: ARG001
    """None without a folder of runs."""
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
