"""Running a benchmark from the command line."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_benchmark(name: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run `python -m benchmarks.NAME` at the root of the repository."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
