"""The application: the routes of all APIs, and what every request goes through."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hark.serve import bodies, deepl, libretranslate, look, native, openai, openapi, page, runs
from hark.serve.admission import SAFE, KnownHosts, SecurityHeaders, known_hosts, refuse_foreign
from hark.serve.bodies import Refusal
from hark.serve.observation import Figures, Log, Observation
from hark.serve.service import Service
from hark.serve.settings import ServeSettings

Refuse = Callable[[Refusal], Response]
NO_BODY: Message = {"type": "http.request", "body": b"", "more_body": False}
MIN_BYTES_PER_SECOND = 10_000
"""How fast a body must arrive after the first `body_seconds`."""


@dataclass(frozen=True)
class Api:
    """An API: its routes, and how it words a refusal."""

    routes: Callable[[Service, ServeSettings], Sequence[Route]]
    refuse: Refuse = bodies.refuse
    admits: bool = True
    """Whether a request must have a valid key, in the header, and is counted for the rate of its client. False: the API
    is public, or calls `service.admission.admit(request, key)` itself, because the key is in the body or the refusal
    has another status."""
    computes: bool = False
    """Whether GET requests compute something, so that pages of other origins must not send them either."""


APIS: tuple[Api, ...] = (
    Api(native.routes),
    Api(look.routes),
    Api(runs.attention_routes, computes=True),
    Api(runs.routes),
    Api(openapi.routes, admits=False),
    Api(libretranslate.routes, libretranslate.refuse, admits=False),
    Api(deepl.routes, deepl.refuse),
    Api(openai.routes, openai.refuse, admits=False),
    Api(page.routes, admits=False),
)
"""All APIs. The first matching route wins."""


class Guarded:
    """The application of one route: checks origin, key and rate, and formats refusals in the dialect of its API."""

    def __init__(self, app: ASGIApp, path: str, api: Api, service: Service, log: Log) -> None:
        self._app, self._path, self._api, self._service, self._log = app, path, api, service, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["hark.route"] = self._path
        scope["starlette.exception_handlers"] = {}, {}  # this formats all errors
        started = False

        async def send_noted(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if self._api.computes or scope["method"] not in SAFE:
                refuse_foreign(scope, self._service.settings)
            if self._api.admits:
                self._service.admission.admit(Request(scope))
            await self._app(scope, receive, send_noted)
        except Exception as error:
            if started:  # too late for another status: the connection is closed, which the client notices
                self._log.write_failure("failure", error, route=self._path)
                raise
            await self._api.refuse(self._refusal(error))(scope, receive, send)

    def _refusal(self, error: Exception) -> Refusal:
        if isinstance(error, Refusal):
            if error.status >= 500 and error.__cause__ is not None:
                self._log.write_failure("failure", error.__cause__, route=self._path)
            return error
        if isinstance(error, HTTPException):
            return Refusal(error.status_code, error.detail)
        if isinstance(error, ClientDisconnect):
            return Refusal(400, "the client hung up")
        self._log.write_failure("failure", error, route=self._path)
        return Refusal(500, "internal error")


def build(service: Service, settings: ServeSettings, log: Log | None = None) -> Starlette:
    """The application of a server. It loads models when it starts, and finishes accepted requests when it stops."""
    log, figures = log or Log(), Figures()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.close()

    async def metrics(request: Request) -> Response:
        service.admission.admit(request)
        return PlainTextResponse(figures.text(service), media_type="text/plain; version=0.0.4")

    own = Api(lambda *_: [*health(service), Route("/metrics", metrics)], admits=False)
    routes = []
    for api in (*APIS, own):
        for route in with_refusals(api.routes(service, settings), api.refuse):
            route.app = Guarded(route.app, route.path, api, service, log)
            routes.append(route)
    middleware = [
        Middleware(Observation, log=log, figures=figures),
        Middleware(SecurityHeaders),
        Middleware(HangUps, settings=settings),
    ]
    if settings.cors:
        allowed = Middleware(
            CORSMiddleware, allow_origins=settings.cors, allow_methods=["*"], allow_headers=["*"], max_age=3600
        )
        middleware.insert(2, allowed)
    if (names := known_hosts(settings)) is not None:
        middleware.insert(2, Middleware(KnownHosts, names=names))
    return Starlette(
        routes=routes,
        middleware=middleware,
        lifespan=lifespan,
        exception_handlers={HTTPException: refuse_http, Exception: refuse_failure},
    )


def with_refusals(routes: Sequence[Route], refuse: Refuse) -> Iterator[Route]:
    """Follow the routes of each path by one that refuses all other methods in the words of its API, and names those
    that the path has: the router knows only the methods of one route."""
    for path, group in groupby(routes, lambda route: route.path):
        found = list(group)
        yield from found
        methods = sorted({method for route in found for method in route.methods or ()})
        yield Route(path, OtherMethods(methods, refuse))


class OtherMethods:
    """The endpoint of methods that a path does not have."""

    def __init__(self, allowed: Sequence[str], refuse: Refuse) -> None:
        self._allowed, self._refuse = ", ".join(allowed), refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        message = f"{scope['path']} does not support {scope['method']}, only {self._allowed}"
        response = self._refuse(Refusal(405, message))
        response.headers["allow"] = self._allowed
        await response(scope, receive, send)


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


def bounded(receive: Receive, settings: ServeSettings, length: str, count: Callable[[int], int]) -> Receive:
    """Return a `receive` that refuses bodies that are too large, come too slowly, or are too many at a time.

    `length`: the header that says how long the body will be. `count` adds bytes to those of all requests in progress,
    and returns their sum.
    """
    loop = asyncio.get_running_loop()
    start, received, ended = loop.time(), 0, False
    too_large = Refusal(413, f"the body is too large; the limit is {settings.body:,} bytes")

    async def receive_part() -> Message:
        nonlocal received, ended
        if ended:
            return await receive()
        if length.isdecimal() and int(length[:20]) > settings.body:
            raise too_large
        try:
            async with asyncio.timeout_at(start + settings.body_seconds + received / MIN_BYTES_PER_SECOND):
                message = await receive()
        except TimeoutError:
            raise Refusal(408, "the body came too slowly") from None
        part = len(message.get("body", b""))
        received += part
        if count(part) > settings.bodies:
            raise Refusal(503, "too many large requests at a time; try again", 1)
        if received > settings.body:
            raise too_large
        ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return receive_part


def health(service: Service) -> list[Route]:
    async def live(_: Request) -> Response:
        return JSONResponse({"status": "live"})

    async def ready(_: Request) -> Response:
        state = service.shelf.readiness
        words = {"status": "ready" if state.done else "loading", "loaded": state.loaded, "total": state.total}
        if state.problem:
            words["problem"] = state.problem
        return JSONResponse(words, 200 if state.done else 503)

    return [Route("/health/live", live), Route("/health/ready", ready)]


async def refuse_http(_: Request, error: Exception) -> Response:
    """No such page, or no such method."""
    assert isinstance(error, HTTPException)
    response = bodies.refuse(Refusal(error.status_code, error.detail.lower()))
    response.headers.update(error.headers or {})
    return response


async def refuse_failure(_: Request, __: Exception) -> Response:
    return bodies.refuse(Refusal(500, "internal error"))
