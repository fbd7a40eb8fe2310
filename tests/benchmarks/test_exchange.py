"""The benchmarks of imported models run at a tiny size."""

import subprocess
import sys

from tests.benchmarks.conftest import run_benchmark
from tests.modules import run_module


def test_exchange() -> None:
    run = run_benchmark("exchange", "--tiny", "--sentences", 3, "--rounds", 1, "--beam", 2)
    assert run.returncode == 0, run.stderr
    assert "random weights" in run.stdout
    assert "fixed output length" in run.stdout
    for system in ("hark, CTranslate2 on cpu, int8", "CTranslate2 by hand", "transformers, float32"):
        assert system in run.stdout


def run_here(command: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
    """Run a command in this process: in another, importing transformers would take most of the time."""
    python, option, module, *arguments = command
    assert (python, option) == (sys.executable, "-m")
    done = run_module(module, *arguments)
    assert done.returncode == 0, done.stderr
    return done
