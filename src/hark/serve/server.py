"""Runs the application with uvicorn: sockets, signals, limits of connections, how to start and stop."""

import asyncio
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hark.errors import UserError
from hark.serve.application import build
from hark.serve.observation import Log, everything_in
from hark.serve.service import Service
from hark.serve.settings import ServeSettings

BACKLOG = 1024
KEEP_ALIVE = 30
"""Seconds that a connection stays open for a next request."""
SPARE_FILES = 256
"""File descriptors for anything but connections."""


@dataclass(frozen=True)
class Connections:
    """All connections of a server."""

    settings: ServeSettings
    idle: "dict[Connection, None]" = field(default_factory=dict)
    """Connections without a request, the one that has been idle longest first."""


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


class HarkServer(uvicorn.Server):
    """A server that stops cleanly at SIGINT and SIGTERM, with exit status 0; a second Ctrl-C stops it at once."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End streams that would go on for ever, then wait for the rest."""
        self._service.stopping.set()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Unlike uvicorn's, this does not raise the signal again after a clean shutdown."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        try:
            before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        except ValueError:  # not in the main thread
            yield
            return
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def make_server(settings: ServeSettings, service: Service | None = None, log: Log | None = None) -> HarkServer:
    """A server that is not running yet."""
    log = log or Log()
    service = service or Service(settings)
    config = uvicorn.Config(
        build(service, settings, log),
        http=partial(Connection, Connections(allow_files(settings))),  # type: ignore[arg-type]
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        root_path=settings.root_path,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=round(settings.shutdown_seconds),
    )
    return HarkServer(config, service)


def run(settings: ServeSettings, started: Callable[[str], object] = lambda _: None) -> None:
    """Serve until a signal comes. `started` is called with the address when the server listens."""
    log = Log()
    with everything_in(log):
        listening = listen(settings)
        server = make_server(settings, log=log)
        address = url_of(settings, listening)
        log.write("start", address=address)
        started(address)
        asyncio.run(server.serve(sockets=[listening]))
        log.write("stop")


def listen(settings: ServeSettings) -> socket.socket:
    """Open the listening socket. A port in use is an error of one line."""
    host, port = settings.host, settings.port
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # asyncio sets TCP_NODELAY only on sockets that name their protocol; without it every answer on a connection
        # that stays open waits 40 ms for the client's acknowledgement of its head.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot listen on {host} port {port}: {reason}; choose another with --port") from None
    except OverflowError:
        raise UserError(f"--port {port}: must be 0 to 65535") from None
    listening.listen(BACKLOG)
    listening.setblocking(False)
    return listening


def url_of(settings: ServeSettings, listening: socket.socket) -> str:
    """The address to open in a browser on this machine."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{settings.root_path}/"


def allow_files(settings: ServeSettings) -> ServeSettings:
    """Raise the limit of open files as far as allowed; lower that of connections if it does not suffice."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = settings.connections + SPARE_FILES
    if soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return replace(settings, connections=max(1, min(settings.connections, soft - SPARE_FILES)))
