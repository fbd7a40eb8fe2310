"""Requests for unknown host names are refused on loopback addresses, where only DNS rebinding leads."""

import pytest

from hark.serve.hosts import host_name, known_hosts
from hark.serve.settings import ServeSettings
from tests.serve.conftest import StartServer
from tests.serve.stubs import service


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
