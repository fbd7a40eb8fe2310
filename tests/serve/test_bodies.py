"""Bodies and fields: every wrong one is one clear 4xx, and the next request works."""

import select
from typing import Any

import pytest
from starlette.requests import Request

from hark.serve.bodies import Fields, Refusal, read_fields
from tests.loops import run as run_in_thread
from tests.serve.conftest import StartServer, TestServer, read_all, start
from tests.serve.stubs import service

JSON = {"content-type": "application/json"}
URL = "/api/v1/translate"
GOOD = b'{"text": "the cat", "source": "en", "target": "de"}'


@pytest.fixture(scope="module")
def small() -> Any:
    """A server with a stub model and a small limit of bodies."""
    started = start(service=service(body=100_000))
    yield started
    started.stop()


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "the body is not valid JSON (line 1, column 1)"),
        (b"{", 400, "the body is not valid JSON (line 1, column 2)"),
        (b"[]", 400, "the JSON must be an object"),
        (b"null", 400, "the JSON must be an object"),
        (b'"text"', 400, "the JSON must be an object"),
        (b'{"text": "\xff\xfe"}', 400, "the body is not valid UTF-8"),
        ('{"text": "a"}'.encode("utf-16"), 400, "the body is not valid UTF-8"),
        (b'{"text": "\\ud800", "target": "de"}', 400, "text is not valid Unicode: it contains half a surrogate pair"),
        (b'{"text": "a\\u0000", "target": "de"}', 400, "text contains a NUL character"),
        (b'{"a": ' + b"[" * 40_000 + b"]" * 40_000 + b"}", 400, "the JSON is nested too deeply"),
        (b'{"nbest": NaN}', 400, "the body is not valid JSON"),
        (b'{"nbest": ' + b"9" * 5000 + b', "text": "a", "target": "de"}', 400, "the body is not valid JSON"),
        (b'{"nbest": 1e400, "text": "a", "target": "de"}', 400, "nbest must be a whole number"),
        (b'{"\\ud800": 1, "text": ["\\udfff"], "target": "de"}', 400, None),
        (b" " * 100_001, 413, "the body is too large; the limit is 100,000 bytes"),
        (b'{"text": "' + b"x" * 60_000 + b'", "target": "de"}', 413, "60,000 characters are too many"),
    ],
)
def test_bad_bodies(small: TestServer, body: bytes, status: int, message: str | None) -> None:
    response = small.post(URL, content=body, headers=JSON)
    assert response.status_code == status, response.text
    if message:
        assert response.json()["error"]["message"].startswith(message)
    assert small.post(URL, content=GOOD, headers=JSON).status_code == 200


def test_a_body_in_chunks_is_limited_too(small: TestServer) -> None:
    response = small.post(URL, content=(b" " * 10_000 for _ in range(50)), headers=JSON)
    assert response.status_code == 413
    assert small.post(URL, content=GOOD, headers=JSON).status_code == 200


def test_the_bodies_of_all_requests_together_are_limited(start_server: StartServer) -> None:
    server = start_server(service(bodies=150_000, body=100_000))
    part = b" " * 99_000
    head = f"POST {URL} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99500\r\n\r\n"
    with server.connect() as one, server.connect() as other:
        for client in (one, other):
            client.sendall(head.encode() + part)
        ready, _, _ = select.select([one, other], [], [], 60)
        assert ready[0].recv(9999).startswith(b"HTTP/1.1 503 ")
        assert server.get("/health/live").status_code == 200
    assert server.post(URL, content=GOOD, headers=JSON).status_code == 200


def test_a_huge_announced_body_is_refused_before_it_is_sent(small: TestServer) -> None:
    with small.connect() as client:
        head = f"POST {URL} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        client.sendall(f"{head}Content-Length: 99999999999\r\n\r\n".encode())
        assert client.recv(9999).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
def test_another_content_type_is_refused(small: TestServer, kind: str) -> None:
    response = small.post(URL, content=GOOD, headers={"content-type": kind})
    assert response.status_code == 415
    assert "Content-Type: application/json" in response.json()["error"]["message"]


def test_a_body_that_comes_too_slowly_is_refused(start_server: StartServer) -> None:
    server = start_server(service(body_seconds=0.2))
    with server.connect() as client:
        client.sendall(f"POST {URL} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode())
        client.sendall(b'Content-Length: 100\r\n\r\n{"text')
        assert read_all(client).startswith(b"HTTP/1.1 408 ")
    assert server.get("/api/v1/languages").status_code == 200


def test_unknown_paths_and_methods(small: TestServer) -> None:
    missing = small.get("/api/v1/nothing")
    assert (missing.status_code, missing.json()["error"]["status"]) == (404, 404)
    wrong = small.get(URL)
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/v1/..%2f..%2fetc", "//etc/passwd", "/\\..\\x"):
        assert small.get(path).status_code == 404


def fields(query: str = "", body: bytes = b"", kind: str = "", method: str = "POST") -> Fields:
    messages = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Any:
        return messages.pop()

    scope = {
        "type": "http",
        "method": method,
        "query_string": query.encode(),
        "headers": [(b"content-type", kind.encode())] if kind else [],
    }
    return run_in_thread(read_fields(Request(scope, receive)))


BOUNDARY = "multipart/form-data; boundary=X"


def part(name: str, value: bytes, more: str = "") -> bytes:
    return f'--X\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + value + b"\r\n"


def test_fields_come_from_anywhere() -> None:
    for found in (
        fields("q=caf%C3%A9&n=3&on=true"),
        fields(body=b"q=caf%C3%A9&n=3&on=1", kind="application/x-www-form-urlencoded"),
        fields(body=b"q=caf%C3%A9&n=3&on=1", kind="application/x-www-form-urlencoded", method="GET"),
        fields(body='{"q": "café", "n": 3, "on": true}'.encode(), kind="application/json"),
        fields(body='{"q": "café", "n": "3", "on": "yes"}'.encode()),
        fields(body=part("q", "café".encode()) + part("n", b"3") + part("on", b"1") + b"--X--\r\n", kind=BOUNDARY),
        fields("q=other&n=3&on=1", b"q=caf%C3%A9", "application/x-www-form-urlencoded"),
    ):
        assert (found.text("q"), found.number("n", 0), found.flag("on")) == ("café", 3, True)
        assert found.texts("q") == ["café"]
        assert (found.text("none"), found.texts("none"), found.number("none", 5)) == (None, None, 5)
        assert "q" in found
        assert "none" not in found


def test_several_texts() -> None:
    assert fields("q=a&q=b").texts("q") == ["a", "b"]
    assert fields(body=b'{"q": ["a", "b"]}').texts("q") == ["a", "b"]
    with pytest.raises(Refusal):
        fields("q=a&q=b").text("q")


def test_files() -> None:
    body = part("file", b"hello", '; filename="../../x.txt"') + b"--X--\r\n"
    found = fields(body=body, kind=BOUNDARY).file("file")
    assert found is not None
    assert found.file.read() == b"hello"
    with pytest.raises(Refusal):
        fields("file=a").file("file")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"--Y\r\n", BOUNDARY),
        (b"x", "multipart/form-data"),
        (part("q", b"x") * 3000 + b"--X--\r\n", BOUNDARY),
        (part("q", b"\xff\xfe") + b"--X--\r\n", BOUNDARY),
        (b"--X\r\n\r\n\r\n--X--", BOUNDARY),
        (b"{", "application/json"),
    ],
)
def test_bad_forms_are_a_400(body: bytes, kind: str) -> None:
    with pytest.raises(Refusal) as refused:
        fields(body=body, kind=kind).text("q")
    assert refused.value.status == 400
