"""The benchmark of the CPU engine runs at a tiny size."""

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "decode_cpu.py"


def test_decode_cpu() -> None:
    command = [sys.executable, str(BENCHMARK), "--tiny", "--sentences", "6", "--repeats", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("cold start")
    for beam in (4, 1):
        assert f"beam {beam}  hark" in run.stdout
        assert f"beam {beam}  by hand" in run.stdout
