"""`hark serve` as a process: signals, exit status, and no connection to anywhere."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hark.models import shipped_folder

PATIENCE = 600
AUDIT = """
import sys

def forbid(event, args):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        print("outbound:", event, file=sys.stderr, flush=True)
        raise PermissionError("outbound connection")

sys.addaudithook(forbid)
from hark.__main__ import main
main()
"""
"""Runs `hark` in a process in which every outbound connection and every lookup of a name fails, and is noted."""
HOLD = """
import os, time
from hark.serve.running import RunningModel

def wait(self, run=RunningModel._run):
    while os.path.exists({file!r}):
        time.sleep(0.01)
    run(self)

RunningModel._run = wait
"""
"""Lets models translate nothing while this file exists."""


class Process:
    """A server in a process of its own."""

    def __init__(self, running: "subprocess.Popen[str]", log: Path) -> None:
        self.running, self.log = running, log
        assert running.stdout is not None
        greeting = running.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", greeting)
        assert found, greeting + log.read_text()
        self.port = int(found[1])

    def ask(self, method: str, path: str, body: object = None) -> http.client.HTTPResponse:
        connection = self.send(method, path, body)
        return connection.getresponse()

    def send(self, method: str, path: str, body: object = None) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        headers = {"content-type": "application/json"} if body is not None else {}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        return connection

    def wait_until_ready(self) -> None:
        self.wait_for(lambda: self.ask("GET", "/health/ready").status == 200)

    def listens(self) -> bool:
        try:
            return self.ask("GET", "/health/live").status == 200
        except ConnectionError:
            return False

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait until this holds while the process is running."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert self.running.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.02)


@contextmanager
def serving(folder: Path, first: str = "") -> Iterator[Process]:
    """`first` is run in the process before `hark`."""
    log = folder / "log"
    command = [sys.executable, "-c", first + AUDIT, "serve", "--port", "0", "--models", str(shipped_folder())]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with log.open("w") as err:
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True, env=environment)
    try:
        yield Process(running, log)
    finally:
        running.kill()
        running.wait()


BOOK = " ".join(f"This is sentence number {i} of a long text." for i in range(40))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_finishes_what_was_accepted(tmp_path: Path, number: int) -> None:
    held = tmp_path / "held"
    held.touch()
    with serving(tmp_path, HOLD.format(file=str(held))) as process:
        assert process.listens()  # before the models are loaded
        waiting = process.send("POST", "/api/v1/translate", {"text": BOOK, "source": "en", "target": "de"})
        process.wait_for(lambda: b"hark_jobs 1\n" in process.ask("GET", "/metrics").read())
        process.running.send_signal(number)
        process.wait_for(lambda: not process.listens())
        held.unlink()
        answer = waiting.getresponse()
        assert answer.status == 200
        done = json.loads(answer.read())["translations"][0]
        assert len(done["sentences"]) == 40
        assert process.running.wait(PATIENCE) == 0
    events = [json.loads(line)["event"] for line in process.log.read_text().splitlines()]
    assert (events[0], events[-1]) == ("start", "stop")
    with pytest.raises(ConnectionError):
        process.ask("GET", "/health/live")


def test_no_outbound_connection_ever(tmp_path: Path) -> None:
    """From the start to the stop, with translation, detection, the page of the API, metrics and errors."""
    with serving(tmp_path) as process:
        process.wait_until_ready()
        for path in ("/docs", "/api/v1/models", "/api/v1/openapi.json", "/metrics", "/", "/nothing", "/languages"):
            assert process.ask("GET", path).status in (200, 404)
        body = {"text": ["Hello.", "Das ist gut.", "See https://example.org or mail a@example.org."], "target": "de"}
        assert process.ask("POST", "/api/v1/translate", body).status == 200
        assert process.ask("POST", "/api/v1/detect", {"text": "Wo ist der Bahnhof?"}).status == 200
        process.running.send_signal(signal.SIGTERM)
        assert process.running.wait(PATIENCE) == 0
    assert "outbound" not in process.log.read_text()


def test_the_audit_notices_an_outbound_connection(tmp_path: Path) -> None:
    code = AUDIT.replace(
        "from hark.__main__ import main\nmain()", "import socket\nsocket.create_connection(('::1', 9))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert "outbound" in done.stderr
    assert done.returncode == 1
