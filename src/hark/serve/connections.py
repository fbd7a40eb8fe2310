"""Connections: limits their number, and the time that a client may take to send a request and to read the answer."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from hark.serve.settings import ServeSettings


class Connections:
    """All connections of a server. `open` is what uvicorn calls for each new one."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.idle: dict[Connection, None] = {}
        """Connections without a request, the one that has been idle longest first."""

    def open(self, **given: Any) -> "Connection":
        return Connection(self, **given)


class Connection(H11Protocol):
    """A connection that is closed if no request comes or no answer is read in time, or if it is idle among too many.

    Uvicorn has no such limit for the first request, and counts idle connections like others: a thousand of them would
    stop a server.
    """

    def __init__(self, all_connections: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._all = all_connections
        self._timer: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        """Closes the connection if the client does not read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_request()
        if len(self.connections) > self._all.settings.connections:
            next(iter(self._all.idle)).close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self.resume_writing()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self._has_request:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._has_request and not self.transport.is_closing():
            self._wait_for_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(self._all.settings.send_seconds, self.close)

    def resume_writing(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    def close(self) -> None:
        """Close the connection at once, without sending what is left."""
        self._stop_waiting()
        self.transport.abort()

    @property
    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_request(self) -> None:
        self._stop_waiting()
        self._all.idle[self] = None
        self._timer = self.loop.call_later(self._all.settings.header_seconds, self.close)

    def _stop_waiting(self) -> None:
        self._all.idle.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
