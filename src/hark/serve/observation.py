"""Middleware that logs and counts every request."""

import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hark.serve.figures import Figures
from hark.serve.log import Log

HUNG_UP = 499
"""The status in log and figures of a request whose client hung up, as in nginx."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
QUIET = ("/health/live", "/health/ready", "/metrics")
"""Routes that are polled: they are counted, but not logged unless they fail."""
UNKNOWN = "(unknown)"


class Observation:
    """Logs and counts requests by route. Paths are not logged: clients choose them."""

    def __init__(self, app: ASGIApp, log: Log, figures: Figures) -> None:
        self._app, self._log, self._figures = app, log, figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
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
            route = scope.get("hark.route", UNKNOWN)
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
