"""Cores and memory of the machine, and the limit of workers."""

import sys

import pytest

from hark import machine
from hark.errors import UserError


def test_too_many_workers_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_cores", lambda: 2)
    assert machine.check_workers(None, "--threads") is None
    assert machine.check_workers(64, "--threads") == 64
    for workers in (65, 100_000, 0, -3):
        with pytest.raises(UserError, match=rf"^--threads {workers}: must be 1 to 64; this machine has 2 cores$"):
            machine.check_workers(workers, "--threads")
    monkeypatch.setattr(machine, "available_cores", lambda: 100)
    assert machine.check_workers(400, "--processes") == 400
    with pytest.raises(UserError, match="--processes 401: must be 1 to 400"):
        machine.check_workers(401, "--processes")


def test_memory_is_a_number_of_bytes() -> None:
    found = machine.available_memory()
    if found is None:
        assert sys.platform != "linux"  # where /proc tells it
    else:
        assert 1 << 20 < found < 1 << 50
