"""Worker processes: results in order, bounded look-ahead, no process left behind."""

import multiprocessing
import subprocess
import sys
from contextlib import closing
from functools import partial

import pytest

from hark.data.workers import run_jobs
from hark.errors import HarkError, UserError
from tests.data.squares import Square, broken


@pytest.mark.parametrize("processes", [1, 2])
def test_results_are_in_order_and_errors_propagate(processes):
    assert list(run_jobs(processes, Square, range(40))) == [n * n for n in range(40)]
    with pytest.raises(UserError, match=r"^poison\.txt:7: bad$"):
        list(run_jobs(processes, partial(Square, 7), range(40)))
    with pytest.raises(UserError, match="cannot be built"):
        list(run_jobs(processes, broken, range(3)))
    assert not multiprocessing.active_children()


def test_look_ahead_is_bounded():
    taken = []

    def jobs():
        for n in range(100):
            taken.append(n)
            yield n

    with closing(run_jobs(2, Square, jobs())) as results:
        next(results)
        assert len(taken) <= 6


DIES_AT_ONCE = """
import os
from functools import partial

from hark.data.workers import run_jobs

if os.environ.setdefault("PARENT", str(os.getpid())) != str(os.getpid()):
    raise ModuleNotFoundError("gone")

def build(large):
    return len

if __name__ == "__main__":
    list(run_jobs(2, partial(build, bytes(1_000_000)), ["job"] * 9))
"""


def test_a_worker_that_dies_during_start_up_is_an_error(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(DIES_AT_ONCE)
    finished = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
    assert finished.stderr.splitlines()[-1].startswith("hark.errors.HarkError: a worker process died")


def test_a_worker_that_dies_is_an_error():
    with pytest.raises(HarkError, match="worker process died"):
        list(run_jobs(2, Square, [1, "die", 3]))
    assert not multiprocessing.active_children()


def test_closing_terminates_the_workers():
    with closing(run_jobs(2, Square, [1, *["sleep"] * 9])) as results:
        next(results)
    assert not multiprocessing.active_children()
