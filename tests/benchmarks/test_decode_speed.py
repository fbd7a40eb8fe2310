"""The benchmark of decoding runs at a tiny size."""

import pytest

from tests.benchmarks.conftest import run_benchmark


@pytest.mark.parametrize("options", [["--ours"], ["--crowd"]], ids=str)
def test_decode_speed(options: list[str]) -> None:
    run = run_benchmark("decode_speed", "--tiny", "--sentences", 3, "--beams", "2,1", *options)
    assert run.returncode == 0, run.stderr
    beam, greedy = run.stdout.splitlines()[-2:]
    assert "beam 2" in beam
    assert "greedy" in greedy
    if options == ["--crowd"]:
        assert all(": 0 of 3 translated differently" in line for line in (beam, greedy))  # float32 on a CPU is exact


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_stream(norm: str) -> None:
    """Each sentence ends by itself at about the length of its source, which the benchmark itself asserts."""
    options = ["--stream", "4", "--norm", norm, "--steps-at-once", "2"]
    run = run_benchmark("decode_speed", "--tiny", *options)
    assert run.returncode == 0, run.stderr
    assert f"stream, {norm}-norm, beam 4, 2 steps at once" in run.stdout


def test_alignment() -> None:
    run = run_benchmark("decode_speed", "--tiny", "--sentences", 3, "--beams", "2", "--align")
    assert run.returncode == 0, run.stderr
    assert "existing translations aligned" in run.stdout
