"""Cores, memory and CPU features of the machine, and the limit of workers."""

import sys
from pathlib import Path

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


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx2\n\nprocessor\t: 1\nflags\t\t: other\n", {"fpu", "avx2"}),
        ("processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd bf16\nCPU part\t: 0xd0c\n", {"fp", "asimd", "bf16"}),
        ("processor\t: 0\n", set()),
        (None, set()),
    ],
    ids=["x86", "ARM", "none", "no file"],
)
def test_cpu_features(listed: str | None, expected: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if listed is not None:
        (tmp_path / "cpuinfo").write_text(listed)
    monkeypatch.setattr(machine, "CPUINFO", tmp_path / "cpuinfo")
    assert machine.cpu_features() == expected
