"""The benchmark of the CPU engine runs at a tiny size."""

from tests.benchmarks.conftest import run_benchmark


def test_decode_cpu() -> None:
    run = run_benchmark("decode_cpu", "--tiny", "--sentences", 6, "--repeats", 1)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("cold start")
    for beam in (4, 1):
        assert f"beam {beam}  hark" in run.stdout
        assert f"beam {beam}  by hand" in run.stdout
