"""The benchmark of the host runs at a tiny size."""

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "decode_host.py"


def test_decode_host() -> None:
    few = ["--sentences", "40", "--warm-up", "20", "--rows", "32", "--places", "4000", "--rounds", "1"]
    run = subprocess.run([sys.executable, str(BENCHMARK), *few], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    names = ("admit: tables", "finish: read back", "all of these")
    rows = {name: line for line in run.stdout.splitlines() for name in names if line.startswith(name)}
    assert rows.keys() == set(names)
    sentence, round_, operations = (float(each) for each in rows["all of these"].split()[-3:])
    assert min(sentence, round_, operations) > 0
