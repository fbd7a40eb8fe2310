"""Real servers on free ports of this machine, each in a thread of its own."""

import asyncio
import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.routing import Route

from hark.models import shipped_folder
from hark.serve.observation import Log
from hark.serve.server import HarkServer, listen, make_server, url_of
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from tests.serve.stubs import service as stub_service

PATIENCE = 600
"""Seconds after which a server hangs."""


class OftenAwake:
    """asyncio for uvicorn, which looks ten times a second whether it is to stop, and pauses as long before it does so:
    together as long as many a test takes."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 4)

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)


uvicorn.server.asyncio = OftenAwake()  # type: ignore[assignment]


@dataclass
class TestServer:
    """A running server: where it is, what it logs, and what it runs."""

    __test__ = False
    url: str
    port: int
    service: Service
    server: HarkServer
    thread: threading.Thread
    written: io.StringIO = field(default_factory=io.StringIO)

    @property
    def log(self) -> str:
        return self.written.getvalue()

    def client(self) -> httpx.Client:
        """A client of its own; without certificates, which take long to load."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE, verify=False)

    def post(self, path: str, **given: Any) -> httpx.Response:
        with self.client() as client:
            return client.post(path, **given)

    def get(self, path: str, **given: Any) -> httpx.Response:
        with self.client() as client:
            return client.get(path, **given)

    def connect(self) -> socket.socket:
        """A plain connection, for clients that misbehave."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def call(self, function: Callable[[], Any]) -> Any:
        """Call a function on the server's event loop; return its result."""

        async def call() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self.server.servers[0].get_loop()).result(PATIENCE)

    @property
    def routes(self) -> list[Route]:
        """All routes."""
        app = self.server.config.loaded_app
        while not hasattr(app, "routes"):
            app = app.app
        return [each for each in app.routes if isinstance(each, Route)]

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


def read_all(client: socket.socket) -> bytes:
    """Everything that the server sends until it closes the connection."""
    return b"".join(iter(lambda: client.recv(1 << 16), b""))


StartServer = Callable[..., TestServer]


def start(settings: ServeSettings | None = None, service: Service | None = None) -> TestServer:
    given = service.settings if service else settings or ServeSettings(models=shipped_folder())
    settings = replace(given, port=0)
    written = io.StringIO()
    listening = listen(settings)
    service = service or Service(settings)
    server = make_server(settings, service, Log(written))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    port = listening.getsockname()[1]
    url = url_of(settings, listening).rstrip("/")
    thread.start()
    return TestServer(url.removesuffix(settings.root_path), port, service, server, thread, written)


def wait_until_ready(server: TestServer) -> TestServer:
    with server.client() as client:
        while client.get("/health/ready").status_code != 200:
            assert server.thread.is_alive()
            time.sleep(0.01)  # leave the CPU to the server, which loads its models
    return server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    """A server with the models that come with hark. Tests must not change it, but for its glossaries."""
    started = wait_until_ready(start(ServeSettings(models=shipped_folder(), state=tmp_path_factory.mktemp("state"))))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def stubbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    """A server whose models answer at once."""
    started = wait_until_ready(start(service=stub_service("en-de", "de-en", state=tmp_path_factory.mktemp("state"))))
    yield started
    started.stop()


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Starts servers with other settings, and stops them at the end: `start_server(body=1000)`.

    `service`: one of its own, such as that of `tests.serve.stubs.service`; by default the shipped models.
    """
    started: list[TestServer] = []

    def start_one(service: Service | None = None, ready: bool = True, **settings: Any) -> TestServer:
        each = start(ServeSettings(models=shipped_folder(), **settings), service)
        started.append(each)
        return wait_until_ready(each) if ready else each

    yield start_one
    for each in started:
        each.stop()


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers look at the files of training runs twenty times a second instead of once."""
    monkeypatch.setattr("hark.serve.runs.PAUSE", 0.05)
