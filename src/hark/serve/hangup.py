"""Cancels the work of clients that hang up, and keeps patient ones from doing so.

While long work is done, spaces are sent until the JSON is ready, so that clients with a read timeout keep waiting.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any, cast

from starlette.responses import Response, StreamingResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hark.serve.bodies import bounded
from hark.serve.native import CompactJson
from hark.serve.settings import ServeSettings

NO_BODY: Message = {"type": "http.request", "body": b"", "more_body": False}


class HangUps:
    """Runs an application, and cancels it when its client disconnects.

    The application reads the body within limits. After the body, the connection is watched.
    """

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self._app, self._settings = app, settings
        self._bytes = 0
        """Bytes of the bodies of all requests in progress."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"").decode("latin-1")
        size = 0

        def count(part: int) -> int:
            nonlocal size
            size += part
            self._bytes += part
            return self._bytes

        rest = bounded(receive, self._settings, length, count)
        body_read = asyncio.Event()
        if length in ("", "0") and b"transfer-encoding" not in headers:
            body_read.set()
        first = body_read.is_set()
        gone = False
        running = cast("asyncio.Task[None]", asyncio.current_task())

        async def receive_part() -> Message:
            nonlocal first
            if first:
                first = False
                return NO_BODY
            if body_read.is_set():
                await asyncio.Event().wait()  # for the end of the connection, which cancels this
            message = await rest()
            if message["type"] == "http.disconnect" or not message.get("more_body", False):
                body_read.set()
            return message

        async def watch() -> None:
            nonlocal gone
            await body_read.wait()
            while (await receive())["type"] != "http.disconnect":
                pass
            gone = True
            running.cancel()

        watching = asyncio.create_task(watch())
        try:
            await self._app(scope, receive_part, send)
        except asyncio.CancelledError:
            if not gone:  # the server is shutting down
                raise
            running.uncancel()
        finally:
            self._bytes -= size
            watching.cancel()


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
    if done:
        return CompactJson(task.result())
    return StreamingResponse(_spaces(task, seconds), media_type=CompactJson.media_type)


async def _spaces(task: "asyncio.Task[Any]", seconds: float) -> AsyncIterator[bytes]:
    try:
        while not task.done():
            yield b" "
            await asyncio.wait([task], timeout=max(seconds, 0.1))
        yield CompactJson().render(task.result())
    finally:
        task.cancel()
