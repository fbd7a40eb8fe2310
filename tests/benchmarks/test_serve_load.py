"""The load test of the server runs for a moment."""

import json
from pathlib import Path

from benchmarks.serve_load import server

from tests.benchmarks.conftest import run_benchmark
from tests.loops import in_thread


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


@in_thread
def test_a_short_comparison_with_another_server() -> None:
    with server() as port:  # stands for LibreTranslate's, whose API it speaks
        run = run_benchmark("serve_load", "--peer", port, "--texts", "mixed", "--seconds", 0.1, "--connections", 2)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count(" times the peer") == 1


@in_thread
def test_a_short_overload() -> None:
    run = run_benchmark("serve_load", "--overload", "--seconds", 0.1)
    assert run.returncode == 0, run.stderr
    assert "503" in run.stdout
    assert "no refusal" in run.stdout


@in_thread
def test_a_short_soak_draws_a_picture(tmp_path: Path) -> None:
    run = run_benchmark("serve_load", "--soak", 0.005, "--connections", 4, "--picture", tmp_path / "memory.svg")
    assert run.returncode == 0, run.stderr
    assert "memory:" in run.stdout
    assert (tmp_path / "memory.svg").read_text().startswith("<svg")
