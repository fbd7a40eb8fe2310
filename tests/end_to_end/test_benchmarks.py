"""The benchmarks run, in a tiny size: for correctness only."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_train_speed() -> None:
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / "train_speed.py"), "--tiny"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    name, *_ = run.stdout.splitlines()[-1].split(",")
    assert name == "tiny"
