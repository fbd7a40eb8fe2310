"""The lock of a run: one writer at a time, released when the process dies."""

import subprocess
import sys
from pathlib import Path

import pytest

from hark.errors import UserError
from hark.rundir import RunDir, RunLock

HOLD = """
import sys, pathlib
from hark.rundir import *
with RunLock(RunDir(pathlib.Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_exclusive_and_released_on_death(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    assert not run.in_use
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    assert run.in_use
    with pytest.raises(UserError, match=f"in use by process {holder.pid}; wait for it or stop it$"), RunLock(run):
        pass
    holder.kill()
    holder.communicate()
    assert not run.in_use
    with RunLock(run):
        assert run.in_use
    assert not run.in_use


def test_checking_the_lock_creates_no_file(tmp_path: Path) -> None:
    assert not RunDir(tmp_path).in_use
    assert list(tmp_path.iterdir()) == []
