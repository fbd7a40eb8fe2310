"""The load test of the server runs for a moment."""

import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import serve_load
from tests.benchmarks.conftest import run_benchmark
from tests.loops import in_thread

Run = Callable[..., str]


@in_thread
def test_a_short_comparison(tmp_path: Path) -> None:
    options = ["--texts", "sentences", "--seconds", 0.1, "--connections", 2]
    run = run_benchmark("serve_load", *options, "--json", tmp_path / "found.json")
    assert run.returncode == 0, run.stderr
    (row,) = json.loads((tmp_path / "found.json").read_text())["rows"]
    assert (row["texts"], row["connections"]) == ("sentences", 2)
    assert row["rate"] > 0
    assert len(row["milliseconds"]) == 3
    assert f"{row['texts']:<10}" in run.stdout


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """A server with the options of an overload."""
    server = serve_load.server("--max-queue", "16")
    with ThreadPoolExecutor(1) as pool:  # because it runs an event loop
        yield pool.submit(server.__enter__).result()
    server.__exit__(None, None, None)


@pytest.fixture
def run(port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs the benchmark with that server instead of a new one, and returns what it printed."""

    @contextmanager
    def server(*options: str) -> Iterator[int]:
        assert options in ((), ("--max-queue", "16"), ("--max-queue", "24"))
        yield port

    def run_main(*options: object) -> str:
        monkeypatch.setattr(sys, "argv", ["serve_load", *map(str, options)])
        serve_load.main()
        return capsys.readouterr().out

    monkeypatch.setattr(serve_load, "server", server)
    return run_main


@in_thread
def test_a_short_comparison_with_another_server(port: int, run: Run) -> None:
    # The same server stands for LibreTranslate's, whose API it speaks.
    printed = run("--peer", port, "--texts", "mixed", "--seconds", 0.1, "--connections", 2)
    assert printed.count(" times the peer") == 1


@in_thread
def test_a_short_overload(run: Run) -> None:
    printed = run("--overload", "--seconds", 0.1)
    assert "503" in printed
    assert "no refusal" in printed


@in_thread
def test_a_short_soak_draws_a_picture(run: Run, tmp_path: Path) -> None:
    printed = run("--soak", 0.005, "--connections", 4, "--picture", tmp_path / "memory.svg")
    assert "memory:" in printed
    assert (tmp_path / "memory.svg").read_text().startswith("<svg")
