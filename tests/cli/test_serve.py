"""`hark serve`: options, keys and errors. The server itself is tested in tests/serve."""

import hashlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hark.cli.serve import check_root_path, parse_size
from hark.errors import UserError
from hark.serve.settings import ServeSettings
from tests.cli.running import Hark, make_runner


@pytest.fixture
def hark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hark:
    return make_runner("serve", tmp_path, {}, monkeypatch, capfd)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ServeSettings]:
    """The settings of servers that would have been started."""
    found: list[ServeSettings] = []

    def run(settings: ServeSettings, started: Callable[[str], Any]) -> None:
        found.append(settings)
        started("http://127.0.0.1:8000/")

    monkeypatch.setattr("hark.serve.server.run", run)
    return found


def test_the_defaults_are_those_of_the_settings(hark: Hark, served: list[ServeSettings]) -> None:
    done = hark()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Serving at http://127.0.0.1:8000/ (Ctrl-C stops it)\n"
    assert served == [ServeSettings()]


def test_all_options(hark: Hark, served: list[ServeSettings], tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    places = ["--host", "0.0.0.0", "--port", "5000", "--models", "m", "--runs", "m", "--root-path", "hark/"]
    others = ["--memory", "1.5G", "--api-keys", "k", "--cors", "https://a", "--cors", "https://b", "--threads", "2"]
    hosts = ["--allowed-host", "a.example", "--allowed-host", "[2001:db8::1]"]
    limits = ["--max-characters", "1", "--max-document", "2", "--max-batch", "3", "--max-body", "4K"]
    hark(*places, *others, *hosts, *limits, "--max-requests", "5", "--max-queue", "6")
    assert served == [
        ServeSettings(
            host="0.0.0.0",
            port=5000,
            models=Path("m"),
            runs=Path("m"),
            memory=3 << 29,
            api_keys=Path("k"),
            cors=("https://a", "https://b"),
            allowed_hosts=("a.example", "[2001:db8::1]"),
            root_path="/hark",
            characters=1,
            document_characters=2,
            batch=3,
            body=4096,
            requests_per_minute=5,
            queue=6,
            threads=2,
        )
    ]


def test_open_opens_the_page(hark: Hark, served: list[ServeSettings], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    hark("--open")
    assert opened == ["http://127.0.0.1:8000/"]
    assert len(served) == 1


def test_a_new_key_is_printed_once_and_stored_as_a_hash(hark: Hark, tmp_path: Path) -> None:
    done = hark("--api-keys", "keys", "--new-key", "alice")
    key = done.stdout.strip()
    assert len(key) >= 32
    assert (tmp_path / "keys").read_text() == f"{hashlib.sha256(key.encode()).hexdigest()} alice\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--new-key", "alice"], "--new-key requires --api-keys"),
        (["--models", "nowhere"], "nowhere: no such folder"),
        (["--runs", "nowhere"], "nowhere: no such folder"),
        (["--memory", "much"], "--memory much: not a size; write one such as 500M or 4G"),
        (["--max-body", "0"], "--max-body 0: not a size"),
        (["--root-path", "a b"], "--root-path a b: not a path"),
        (["--allowed-host", "http://a.example"], "--allowed-host http://a.example: not a host name; write one"),
        (["--allowed-host", "a.example:80"], "--allowed-host a.example:80: not a host name"),
        (["--models", ".", "--port", "0"], ": no models; put one there"),
        (["--api-keys", "nowhere", "--port", "0"], "nowhere: cannot be read; make it with hark serve --new-key"),
        (["--host", "192.0.2.1", "--port", "0"], "cannot listen on 192.0.2.1 port 0"),
    ],
)
def test_errors_are_one_line(hark: Hark, words: list[str], message: str) -> None:
    done = hark(*words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_in_use_is_an_error(hark: Hark) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = hark("--port", str(port))
    assert done.returncode == 2
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use; choose another with --port" in done.stderr


def test_a_missing_package_names_its_extra(hark: Hark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.errors.find_spec", lambda name: None if name == "uvicorn" else object())
    done = hark()
    assert done.returncode == 1
    assert "hark serve requires uvicorn: pip install 'hark-translate[serve]'" in done.stderr


@pytest.mark.parametrize(
    ("text", "size"), [("1", 1), ("2K", 2048), ("1.5g", 3 << 29), ("10 MiB", 10 << 20), ("3MB", 3 << 20)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, "--memory") == size


def test_root_paths() -> None:
    assert [check_root_path(path) for path in ("", "/", "a", "/a/b/")] == ["", "", "/a", "/a/b"]
    with pytest.raises(UserError):
        check_root_path("a?b")
