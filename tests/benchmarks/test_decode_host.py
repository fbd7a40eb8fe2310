"""The benchmark of the host runs at a tiny size."""

from tests.benchmarks.conftest import run_benchmark


def test_decode_host() -> None:
    few = ["--sentences", "40", "--warm-up", "20", "--rows", "32", "--places", "4000", "--rounds", "1"]
    run = run_benchmark("decode_host", *few)
    assert run.returncode == 0, run.stderr
    names = ("admit: tables", "finish: read back", "all of these")
    rows = {name: line for line in run.stdout.splitlines() for name in names if line.startswith(name)}
    assert rows.keys() == set(names)
    sentence, round_, operations = (float(each) for each in rows["all of these"].split()[-3:])
    assert min(sentence, round_, operations) > 0
