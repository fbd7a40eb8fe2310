"""Cores and memory available to this process, and the features of the CPU."""

import os
from contextlib import suppress
from pathlib import Path

from hark.errors import UserError

CPUINFO = Path("/proc/cpuinfo")
MOST_WORKERS = 64
"""Limit of threads or processes on a small machine; on a larger one it is four per core."""


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(workers: int | None, option: str) -> int | None:
    """Return a number of threads or processes, or raise an error if it would overload the machine. None: default."""
    limit = max(MOST_WORKERS, 4 * available_cores())
    if workers is not None and not 1 <= workers <= limit:
        raise UserError(f"{option} {workers}: must be 1 to {limit}; this machine has {available_cores()} cores")
    return workers


def cpu_features() -> set[str]:
    """Instruction sets and the like of the first core, by Linux's names; empty where they are not listed."""
    try:
        lines = CPUINFO.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return set()
    listed = (line.partition(":") for line in lines)
    return next((set(names.split()) for key, _, names in listed if key.strip() in ("flags", "Features")), set())


def available_memory() -> int | None:
    """Bytes of memory available to this process; None if unknown."""
    limits = [free for free in (free_memory(), *map(free_in_group, Path("/sys/fs/cgroup").glob("memory.max"))) if free]
    return min(limits, default=None)


def free_memory() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def free_in_group(limit: Path) -> int | None:
    """Bytes left in the memory limit of a cgroup; None if unlimited."""
    try:
        return int(limit.read_text()) - int(limit.with_name("memory.current").read_text())
    except (OSError, ValueError):
        return None


def return_memory() -> None:
    """Return freed memory to the operating system, if the C library can (glibc's does it by itself only in part)."""
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
