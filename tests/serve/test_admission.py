"""Who is admitted: keys and rates. Pages of other origins cannot change or compute anything; the own page can."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hark.errors import UserError
from hark.serve.admission import MAX_CLIENTS, Keys, Rates, add_key, host_name, is_own, known_hosts
from hark.serve.settings import ServeSettings
from tests.serve.conftest import StartServer, TestServer
from tests.serve.stubs import service

TRANSLATE = {"q": "the cat", "source": "en", "target": "de"}
GLOSSARY = {
    "name": "stored", "source_lang": "en", "target_lang": "de", "entries": "cat\tKatze", "entries_format": "tsv",
}  # fmt: skip
ATTACK = """async (server) => {
  const glossary = GLOSSARY;
  const send = (body, headers) => fetch(`${server}/v2/glossaries`, { method: "POST", mode: "no-cors", body, headers });
  for (let i = 0; i < 5; i++) {
    await send(new URLSearchParams(glossary));
    await send(JSON.stringify(glossary), { "content-type": "text/plain" });
    const form = new FormData();
    Object.entries(glossary).forEach((each) => form.append(...each));
    await send(form);
  }
  navigator.sendBeacon(`${server}/v2/glossaries`, JSON.stringify(glossary));
  const frame = document.createElement("iframe");
  frame.name = "hidden";
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", action: `${server}/v2/glossaries`, target: "hidden" });
  for (const [name, value] of Object.entries(glossary)) {
    form.append(Object.assign(document.createElement("input"), { name, value }));
  }
  document.body.append(frame, form);
  const loaded = new Promise((done) => frame.addEventListener("load", done));
  form.submit();
  await loaded;
  await fetch(`${server}/translate`, { method: "POST", mode: "no-cors", body: new URLSearchParams(TRANSLATE) });
}""".replace("GLOSSARY", json.dumps(GLOSSARY)).replace("TRANSLATE", json.dumps(TRANSLATE))
ASK = """async (server) => {
  const body = new URLSearchParams(TRANSLATE);
  try {
    return (await (await fetch(`${server}/translate`, { method: "POST", body })).json()).translatedText;
  } catch (error) {
    return error.name;
  }
}""".replace("TRANSLATE", json.dumps(TRANSLATE))


def test_a_client_is_slowed_down_and_recovers() -> None:
    now = 0.0
    limit = Rates(60, lambda: now)
    assert [limit.take("a") for _ in range(60)] == [0] * 60
    wait = limit.take("a")
    assert wait >= 1
    assert limit.take("b") == 0
    now += wait
    assert limit.take("a") == 0
    assert limit.take("a") > 0
    now += 3600
    assert [limit.take("a") > 0 for _ in range(61)] == [False] * 60 + [True]


def test_no_limit() -> None:
    limit = Rates(0)
    assert all(limit.take("a") == 0 for _ in range(1000))


def test_the_number_of_clients_is_bounded() -> None:
    limit = Rates(1, lambda: 0.0)
    for i in range(MAX_CLIENTS + 10):
        limit.take(f"{i}")
    assert len(limit._buckets) == MAX_CLIENTS
    assert limit.take(f"{MAX_CLIENTS + 5}") > 0


def test_a_new_key_is_found_by_name_and_only_its_hash_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    one, other = add_key(path, "alice  smith"), add_key(path)
    assert one != other
    assert one not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    keys = Keys(path)
    assert keys.find(one) == "alice smith"
    assert keys.find(other) == "key 2"
    assert keys.find(one + "x") is None
    assert keys.find("") is None
    assert keys.find("\udcff") is None


def test_all_hashes_are_compared_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "keys"
    first = add_key(path)
    add_key(path)
    compared = []
    compare = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda *pair: (compared.append(pair), compare(*pair))[1])
    assert Keys(path).find(first)
    assert len(compared) == 2


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    key = add_key(path)
    keys = Keys(path)
    other = add_key(path)
    assert keys.find(other)
    path.write_text(f"# nobody but bob\n\n{hashlib.sha256(b'secret').hexdigest().upper()} bob\n")
    assert keys.find("secret") == "bob"
    assert keys.find(key) is None
    path.write_text("damaged\n")
    assert keys.find("secret") == "bob"  # until it is valid again


def test_a_wrong_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--new-key"):
        Keys(tmp_path / "missing")
    path = tmp_path / "keys"
    path.write_text("secret\n")
    with pytest.raises(UserError, match="keys:1: not the SHA-256"):
        Keys(path)
    with pytest.raises(UserError, match="No such file"):
        add_key(tmp_path / "missing" / "keys")


class Elsewhere(BaseHTTPRequestHandler):
    """Another site: one page without a policy."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><body></body>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[int]:
    """The port of another site on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        yield site.server_port
        site.shutdown()


def stored(server: TestServer) -> list[Any]:
    found: list[Any] = server.get("/v2/glossaries").json()["glossaries"]
    return found


def served(log: str, route: str) -> list[int]:
    lines = [json.loads(line) for line in log.splitlines()]
    return [each["status"] for each in lines if each.get("route") == route and each["method"] == "POST"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_of_another_origin_stores_and_computes_nothing(
    browser: Any, start_server: StartServer, elsewhere: int, host: str, tmp_path: Path
) -> None:
    server = start_server(service(state=tmp_path))
    page = browser.new_page()
    page.goto(f"http://{host}:{elsewhere}/")
    page.evaluate(ATTACK, server.url)
    assert page.evaluate(ASK, server.url) == "TypeError"
    page.close()
    assert stored(server) == []
    assert set(served(server.log, "/v2/glossaries")) == {403}
    assert len(served(server.log, "/v2/glossaries")) >= 16
    assert set(served(server.log, "/translate")) == {403}


def test_a_page_of_an_allowed_origin_and_the_own_page_translate(
    browser: Any, start_server: StartServer, elsewhere: int
) -> None:
    origin = f"http://127.0.0.1:{elsewhere}"
    server = start_server(service(cors=(origin,)))
    page = browser.new_page()
    for site, found in ((origin, "THE CAT"), (server.url, "THE CAT"), (f"http://localhost:{elsewhere}", "TypeError")):
        page.goto(site)
        assert page.evaluate(ASK, server.url) == found
    page.close()


OWN: list[dict[str, str]] = [
    {},
    {"sec-fetch-site": "same-origin", "origin": "https://behind.a.proxy"},
    {"sec-fetch-site": "none"},
    {"origin": "http://127.0.0.1:7", "host": "127.0.0.1:7"},
    {"origin": "chrome-extension://abc", "sec-fetch-site": "cross-site"},
    {"origin": "moz-extension://abc"},
    {"origin": "https://allowed.example", "sec-fetch-site": "cross-site"},
]
FOREIGN: list[dict[str, str]] = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:8", "host": "127.0.0.1:7"},
    {"origin": "http://localhost:7", "host": "127.0.0.1:7"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:8"},
    {"origin": "file://"},
]


def test_raw_requests(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(service(state=tmp_path, cors=("https://allowed.example",)))
    native = {"text": "the cat", "source": "en", "target": "de"}
    for headers in OWN:
        assert server.post("/translate", data=TRANSLATE, headers=headers).status_code == 200, headers
        assert server.post("/v2/translate", json={"text": ["the cat"], "target_lang": "DE"}, headers=headers).is_success
        assert server.post("/api/v1/translate", json=native, headers=headers).is_success
    for headers in FOREIGN:
        refused = server.post("/translate", data=TRANSLATE, headers=headers)
        assert refused.status_code == 403, headers
        assert "--cors" in refused.json()["error"]  # in the words of LibreTranslate
        assert "--cors" in server.post("/v2/glossaries", data=GLOSSARY, headers=headers).json()["message"]  # DeepL's
        assert "--cors" in server.post("/api/v1/translate", json=native, headers=headers).json()["error"]["message"]
        assert server.get("/languages", headers=headers).status_code == 200  # changes and computes nothing
    assert stored(server) == []


def test_json_sent_as_plain_text_is_not_read(start_server: StartServer) -> None:
    """Only pages send it so, and old browsers do not say where they come from."""
    server = start_server(service())
    body = json.dumps(TRANSLATE)
    assert server.post("/translate", content=body, headers={"content-type": "text/plain"}).status_code == 400
    assert server.post("/translate", content=body).json()["translatedText"] == "THE CAT"


def test_a_get_that_computes_is_refused_too(start_server: StartServer, tmp_path: Path) -> None:
    server = start_server(runs=tmp_path, ready=False)
    path = "/api/v1/runs/attention?run=x&step=1&sentence=0"
    assert server.get(path).status_code == 404
    assert server.get(path, headers={"sec-fetch-site": "cross-site"}).status_code == 403


@pytest.mark.parametrize(
    ("origin", "host", "names", "own"),
    [
        ("https://translate.example.org", "translate.example.org", (), True),
        ("https://Translate.example.org", "translate.example.org:443", (), True),
        ("http://translate.example.org", "translate.example.org:80", (), True),
        ("http://[::1]:8000", "[::1]:8000", (), True),
        ("http://translate.lan", "127.0.0.1:8000", (), False),
        ("http://translate.lan", "127.0.0.1:8000", ("translate.lan",), True),  # a proxy hides the name
        ("http://localhost:3000", "localhost:8000", ("localhost",), False),
        ("http://evil.example:8000", "127.0.0.1:8000", ("translate.lan", "*"), False),
        ("ftp://a", "a", (), False),
        ("", "", (), False),
    ],
)
def test_the_own_origin(origin: str, host: str, names: tuple[str, ...], own: bool) -> None:
    assert is_own(origin, host, ServeSettings(allowed_hosts=names)) == own


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost", "localhost"),
        ("LocalHost.:8000", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:8000", "::1"),
        ("[::1]", "::1"),
        ("evil.example:127.0.0.1", "evil.example"),
        ("", ""),
    ],
)
def test_the_name_of_a_host(host: str, name: str) -> None:
    assert host_name(host) == name


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.0.0.2"])
def test_a_loopback_address_knows_its_own_names(host: str) -> None:
    assert known_hosts(ServeSettings(host=host)) == {"localhost", "127.0.0.1", "::1", host}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_on_a_network_any_name_is_known_unless_some_are_given(host: str) -> None:
    assert known_hosts(ServeSettings(host=host)) is None
    given = known_hosts(ServeSettings(host=host, allowed_hosts=("Translate.example.org",)))
    assert given is not None
    assert given > {"translate.example.org", "localhost"}


def test_a_star_allows_any_name() -> None:
    assert known_hosts(ServeSettings(allowed_hosts=("*",))) is None


def test_unknown_hosts_are_refused_in_every_api(start_server: StartServer) -> None:
    server = start_server(service(allowed_hosts=("translate.example.org",)))
    for path in ("/", "/api/v1/models", "/languages", "/v2/languages", "/health/live", "/nothing"):
        refused = server.get(path, headers={"host": "evil.example:8000"})
        assert refused.status_code == 421, path
        assert "unknown host evil.example; " in refused.json()["error"]["message"]
        assert "content-security-policy" in refused.headers
    for host in ("localhost", "127.0.0.1:1", "[::1]:9", "translate.example.org", "Translate.Example.org:443"):
        assert server.get("/health/live", headers={"host": host}).status_code == 200
    assert '"status": 421' in server.log
    assert "evil" not in server.log


def test_http_1_0_needs_no_host(start_server: StartServer) -> None:
    server = start_server(service())
    with server.connect() as client:
        client.sendall(b"GET /health/live HTTP/1.0\r\n\r\n")
        assert client.recv(1 << 12).split()[1] == b"200"
