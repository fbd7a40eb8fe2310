"""What this machine has: cores and memory, as far as this process may use them."""

import os
from pathlib import Path

from hark.errors import UserError

MOST_WORKERS = 64
"""Threads or processes that may be asked for on the smallest machine; on a larger one, four for each core."""


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_workers(wanted: int | None, option: str) -> int | None:
    """Refuse a number of threads or processes that would bring the machine down; none stands for the default."""
    limit = max(MOST_WORKERS, 4 * available_cores())
    if wanted is not None and not 1 <= wanted <= limit:
        raise UserError(f"{option} {wanted}: must be 1 to {limit}; this machine has {available_cores()} cores")
    return wanted


def available_memory() -> int | None:
    """Bytes of memory that are free for this process, or could be made so; none where that cannot be told."""
    found = [free for free in (free_memory(), *map(free_in_group, Path("/sys/fs/cgroup").glob("memory.max"))) if free]
    return min(found, default=None)


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
    """What a container may still use; none where it has no limit."""
    try:
        return int(limit.read_text()) - int(limit.with_name("memory.current").read_text())
    except (OSError, ValueError):
        return None
