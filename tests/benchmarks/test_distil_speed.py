"""The distillation benchmark runs on a small dataset, and counts every pair."""

import re
from pathlib import Path

from tests.benchmarks.conftest import run_benchmark


def test_the_whole_command(dataset: Path) -> None:
    done = run_benchmark("distil_speed", dataset, "--pairs", 20, "--processes", 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"20 pairs, 1 processes: [\d,]+ per second\nengine process: [\d.]+ us per pair;", done.stdout)
