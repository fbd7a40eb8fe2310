"""The benchmarks of imported models run at a tiny size."""

from tests.benchmarks.conftest import run_benchmark


def test_exchange() -> None:
    run = run_benchmark("exchange", "--tiny", "--sentences", 3, "--rounds", 1, "--beam", 2)
    assert run.returncode == 0, run.stderr
    assert "random weights" in run.stdout
    assert "fixed output length" in run.stdout
    for system in ("hark, CTranslate2 on cpu, int8", "CTranslate2 by hand", "transformers, float32"):
        assert system in run.stdout
