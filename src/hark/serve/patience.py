"""Answers of long work: spaces are sent until the JSON is ready, so that clients with a read timeout keep waiting."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from starlette.responses import Response, StreamingResponse

from hark.serve.native import CompactJson


async def answer_patiently(work: Coroutine[Any, Any, Any], seconds: float) -> Response:
    """Return the result of `work` as JSON. If it takes longer than `seconds`, begin the answer with spaces.

    An error before that has a status of its own; one after it closes the connection, which the client notices.
    """
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    return (
        CompactJson(task.result())
        if done
        else StreamingResponse(_spaces(task, seconds), media_type=CompactJson.media_type)
    )


async def _spaces(task: "asyncio.Task[Any]", seconds: float) -> AsyncIterator[bytes]:
    try:
        while not task.done():
            yield b" "
            await asyncio.wait([task], timeout=max(seconds, 0.1))
        yield CompactJson().render(task.result())
    finally:
        task.cancel()
