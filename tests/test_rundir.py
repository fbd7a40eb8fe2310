"""Run folders: one writer at a time, and a lock that dies with its holder."""

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


def test_a_lock_is_exclusive_and_dies_with_its_holder(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    assert not run.in_use
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    assert run.in_use
    with pytest.raises(UserError, match=f"in use by process {holder.pid}; wait for it, or stop it first"), RunLock(run):
        pass
    holder.kill()
    holder.communicate()
    assert not run.in_use
    with RunLock(run):
        assert run.in_use
    assert not run.in_use


def test_looking_leaves_no_trace(tmp_path: Path) -> None:
    assert not RunDir(tmp_path).in_use
    assert list(tmp_path.iterdir()) == []
