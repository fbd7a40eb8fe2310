"""The application over real sockets: keys, rates, headers, log, metrics, hang-ups, slow and idle clients, shutdown."""

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hark.serve.admission import add_key
from tests.serve.conftest import PATIENCE, StartServer, TestServer, read_all
from tests.serve.stubs import Gate, service

URL = "/api/v1/translate"
BODY = {"text": "the cat", "source": "en", "target": "de"}


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def request(path: str, body: bytes, headers: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_it_is_live_at_once_and_ready_when_the_models_are_loaded(start_server: StartServer) -> None:
    loading = threading.Event()

    def engine(_: str) -> Gate:
        assert loading.wait(PATIENCE)
        return Gate()

    server = start_server(service("en-de", "de-en", engine=engine), ready=False)
    assert server.get("/health/live").status_code == 200
    waiting = server.get("/health/ready")
    assert waiting.status_code == 503
    assert waiting.json() == {"status": "loading", "loaded": 0, "total": 2}
    loading.set()
    wait_until(lambda: server.get("/health/ready").status_code == 200)
    assert server.get("/health/ready").json() == {"status": "ready", "loaded": 2, "total": 2}


def test_answers_are_sent_without_delay(server: TestServer) -> None:
    """The head and the body are sent one after the other; Nagle's algorithm would keep the body for 40 ms."""
    with server.connect() as client:
        client.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(1)
        connections = server.call(lambda: list(server.server.server_state.connections))
        sockets = [each.transport.get_extra_info("socket") for each in connections]
        (own,) = [each for each in sockets if each.getpeername() == client.getsockname()]
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_keys(start_server: StartServer, tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys", "alice")
    server = start_server(service(api_keys=tmp_path / "keys"))
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": key}, {"authorization": "Basic x"}):
        refused = server.post(URL, json=BODY, headers=headers)
        assert refused.status_code == 403
        assert "API key" in refused.json()["error"]["message"]
    for scheme in ("Bearer", "bearer", "DeepL-Auth-Key"):
        headers = {"authorization": f"{scheme} {key}"}
        assert server.post(URL, json=BODY, headers=headers).status_code == 200
    assert server.get("/health/ready").status_code == 200
    assert server.get("/metrics").status_code == 403
    assert server.get("/metrics", headers=headers).status_code == 200
    assert key not in server.log
    assert '"key": "alice"' in server.log


def test_any_key_is_accepted_without_a_file(server: TestServer) -> None:
    assert server.get("/api/v1/models", headers={"authorization": "Bearer x"}).status_code == 200


def test_rates(start_server: StartServer) -> None:
    server = start_server(service(requests_per_minute=3))
    statuses = [server.post(URL, json=BODY).status_code for _ in range(3)]
    refused = server.post(URL, json=BODY)
    assert (statuses, refused.status_code) == ([200] * 3, 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"]["message"].startswith("Slowdown:")
    assert server.get("/health/live").status_code == 200


def test_the_rate_of_wrong_keys_is_limited_too(start_server: StartServer, tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys")
    server = start_server(service(requests_per_minute=2, api_keys=tmp_path / "keys"))
    statuses = [server.get("/api/v1/models", headers={"authorization": "Bearer x"}).status_code for _ in range(3)]
    assert statuses == [403, 403, 429]
    assert server.get("/api/v1/models", headers={"authorization": f"Bearer {key}"}).status_code == 200


@pytest.mark.parametrize("path", ["/docs", "/api/v1/models", "/nothing", "/health/live"])
def test_security_headers_are_on_every_answer(server: TestServer, path: str) -> None:
    headers = server.get(path).headers
    policy = headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers
    assert headers["cache-control"] == "no-store"


def test_cors_is_off_unless_asked(server: TestServer, start_server: StartServer) -> None:
    headers = {"origin": "https://example.org"}
    assert "access-control-allow-origin" not in server.get("/api/v1/models", headers=headers).headers
    other = start_server(service(cors=("https://example.org",)))
    allowed = "access-control-allow-origin"
    assert other.get("/api/v1/models", headers=headers).headers[allowed] == "https://example.org"
    assert allowed not in other.get("/api/v1/models", headers={"origin": "https://other.org"}).headers
    asked = {**headers, "access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    with other.client() as client:
        assert client.options(URL, headers=asked).status_code == 200


def test_a_root_path(start_server: StartServer) -> None:
    server = start_server(service(root_path="/hark"))
    assert server.get("/api/v1/models").status_code == 200  # a proxy that removes the prefix
    assert server.get("/api/v1/openapi.json").json()["servers"] == [{"url": "/hark"}]


SECRET = "Zanzibar 4711"


def test_the_log_has_no_text_keys_or_queries_of_users(start_server: StartServer) -> None:
    server = start_server(service())
    server.post(f"{URL}?secret={SECRET}", json={**BODY, "text": SECRET}, headers={"authorization": f"Bearer {SECRET}"})
    server.get(f"/{SECRET}")
    server.post(URL, content=SECRET.encode(), headers={"content-type": "application/json"})
    server.post(URL, json={**BODY, "target": SECRET})
    server.post(URL, json={**BODY, SECRET: SECRET}, headers={"user-agent": SECRET, "cookie": SECRET})
    with server.connect() as client:
        client.sendall(f"{SECRET}\r\n\r\n".encode())
        read_all(client)
    lines = [json.loads(line) for line in server.log.splitlines()]
    assert [line["status"] for line in lines if line["event"] == "request"] == [200, 404, 400, 400, 200]
    assert "Zanzibar" not in server.log
    assert "4711" not in server.log
    assert {line.get("route") for line in lines} == {URL, "(unknown)"}
    for line in lines:
        assert {"time", "level", "event"} <= set(line)


def test_a_failure_is_a_500_without_details_and_the_log_says_where(start_server: StartServer) -> None:
    broken = service()

    def fail(*_: object) -> Any:
        raise RuntimeError(SECRET)

    broken.translate = fail  # type: ignore[method-assign]
    server = start_server(broken)
    response = server.post(URL, json=BODY)
    assert response.status_code == 500
    assert response.json() == {"error": {"message": "internal error", "status": 500}}
    failure = next(json.loads(line) for line in server.log.splitlines() if '"failure"' in line)
    assert failure["error"] == "RuntimeError"
    assert any("native.py" in where for where in failure["where"])
    assert "Zanzibar" not in server.log
    assert server.get("/health/live").status_code == 200


def test_metrics(start_server: StartServer) -> None:
    server = start_server(service())
    for _ in range(3):
        server.post(URL, json=BODY)
    server.post(URL, json={})
    server.get("/x/y/z")
    text = server.get("/metrics").text
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert figures[f'hark_requests_total{{route="{URL}",method="POST",status="200"}}'] == "3"
    assert figures[f'hark_requests_total{{route="{URL}",method="POST",status="400"}}'] == "1"
    assert figures['hark_requests_total{route="(unknown)",method="GET",status="404"}'] == "1"
    assert figures[f'hark_request_seconds_bucket{{route="{URL}",le="+Inf"}}'] == "4"
    assert figures[f'hark_request_seconds_count{{route="{URL}"}}'] == "4"
    assert figures["hark_texts_total"] == "3"
    assert figures["hark_characters_total"] == str(3 * len("the cat"))
    assert float(figures["hark_tokens_total"]) > 3
    assert figures["hark_jobs"] == "0"
    assert figures['hark_queued_sentences{model="en-de"}'] == "0"
    assert int(figures["process_resident_memory_bytes"]) > 1 << 20
    assert "/x/y/z" not in text
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    suffixes = ("_bucket", "_sum", "_count", "")
    for name in figures:
        base = name.partition("{")[0]
        assert any(base.removesuffix(suffix) in named for suffix in suffixes), name


def gated(start_server: StartServer, **settings: Any) -> tuple[TestServer, Gate]:
    engine = Gate()
    return start_server(service(engine=lambda _: engine, **settings)), engine


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("way", ["close", "reset", "half"])
def test_a_client_that_hangs_up_frees_its_places(start_server: StartServer, way: str, stream: bool) -> None:
    server, engine = gated(start_server)
    body = json.dumps({**BODY, "text": [f"the cat {i}" for i in range(20)], "stream": stream}).encode()
    client = server.connect()
    client.sendall(request(URL, body))
    wait_until(lambda: len(engine.held) + len(engine.intake) == 20)
    if way == "reset":
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if way == "half":
        client.shutdown(socket.SHUT_WR)
    else:
        client.close()
    wait_until(lambda: not engine.held and not len(engine.intake))
    wait_until(lambda: server.service.jobs == 0)
    engine.opened = True
    assert server.post(URL, json=BODY).json()["translations"][0]["text"] == "THE CAT"
    wait_until(lambda: '"status": 499' in server.log or stream)
    client.close()


def test_identical_requests_share_the_work_and_hang_up_separately(start_server: StartServer) -> None:
    server, engine = gated(start_server)
    clients = [server.connect() for _ in range(3)]
    for client in clients:
        client.sendall(request(URL, json.dumps(BODY).encode(), "Connection: close\r\n"))
    wait_until(lambda: server.service.counts.joined == 2)
    wait_until(lambda: len(engine.held) == 1)
    clients[0].close()
    engine.opened = True
    for client in clients[1:]:
        assert b"THE CAT" in read_all(client)


def test_a_thousand_idle_connections_do_not_stop_others(start_server: StartServer) -> None:
    server = start_server(service(connections=300))
    idle = [server.connect() for _ in range(1000)]
    slow = server.connect()
    slow.sendall(b"POST /api/v1/translate HTTP/1.1\r\nHos")
    assert server.post(URL, json=BODY).status_code == 200
    assert server.get("/health/live").status_code == 200
    wait_until(lambda: len(server.server.server_state.connections) <= 300)
    for client in (*idle, slow):
        client.close()


def test_a_connection_without_a_request_is_closed(start_server: StartServer) -> None:
    server = start_server(service(header_seconds=0.1))
    with server.connect() as silent, server.connect() as slow:
        slow.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost")
        for client in (silent, slow):
            with suppress(ConnectionResetError):
                assert read_all(client) == b""
    assert server.get("/health/live").status_code == 200


def test_an_upload_without_end_after_a_refusal_is_closed(start_server: StartServer) -> None:
    server = start_server(service(header_seconds=0.2))
    with server.connect() as client:
        client.sendall(b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        with pytest.raises(ConnectionError):
            send_without_end(client)


def send_without_end(client: socket.socket) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        client.sendall(b"400\r\n" + b"x" * 1024 + b"\r\n")


def test_a_client_that_does_not_read_is_dropped(start_server: StartServer) -> None:
    server = start_server(service(send_seconds=0.2, nbest=10))
    text = "the cat sees the house. " * 2000
    client = server.connect()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for _ in range(40):
        client.sendall(request(URL, json.dumps({**BODY, "text": text}).encode()))
    wait_until(lambda: not server.server.server_state.connections)
    wait_until(lambda: server.service.jobs == 0)
    assert server.post(URL, json=BODY).status_code == 200
    client.close()


def test_pipelined_requests_are_answered_in_order(start_server: StartServer) -> None:
    server = start_server(service())
    with server.connect() as client:
        one = request(URL, json.dumps(BODY).encode())
        other = request(URL, json.dumps({**BODY, "text": "the house"}).encode(), "Connection: close\r\n")
        client.sendall(one + other)
        answer = read_all(client)
    assert answer.index(b"THE CAT") < answer.index(b"THE HOUSE")


def test_stopping_finishes_what_was_accepted(start_server: StartServer) -> None:
    server, engine = gated(start_server)
    with server.connect() as client:
        client.sendall(request(URL, json.dumps(BODY).encode()))
        wait_until(lambda: len(engine.held) == 1)
        server.server.should_exit = True
        wait_until(lambda: not any(each.is_serving() for each in server.server.servers))
        engine.opened = True
        assert b"THE CAT" in read_all(client)
    server.thread.join(PATIENCE)
    assert engine.closed


def test_a_wrong_method_gets_405_and_allow_on_every_route(server: TestServer) -> None:
    """In JSON, in the words of each API, and with all methods of the path, not only those of one route."""
    methods: dict[str, set[str]] = {}
    for route in server.routes:
        if route.methods is not None:
            methods.setdefault(re.sub(r"{\w+(:path)?}", "x", route.path), set()).update(route.methods)
    dialects = ("/v2/", "/v3/")
    paths = [path for path in methods if path not in ("/v2/x", "/v3/x")]  # these answer 404 to all methods
    assert {"/v2/translate", "/v3/glossaries/x", "/translate", "/", "/docs", "/metrics", "/health/live"} <= {*paths}
    with server.client() as client:
        for path in paths:
            for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - methods[path]:
                answer = client.request(method, path)
                assert (answer.status_code, path) == (405, path)
                assert set(answer.headers["allow"].split(", ")) == methods[path]
                assert ("message" if path.startswith(dialects) else "error") in answer.json()
    assert methods["/v3/glossaries/x"] == {"DELETE", "GET", "HEAD", "PATCH"}
