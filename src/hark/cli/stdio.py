"""Standard streams that were closed when hark started (`>&-`, some daemons)."""

import fcntl
import os
import sys

OPPOSITE = {0: os.O_WRONLY, 1: os.O_RDONLY}
"""Modes in which /dev/null replaces stdin and stdout: reading stdin and writing to stdout remain errors."""


def fill_missing_streams() -> None:
    """Open /dev/null on closed descriptors 0, 1 and 2, so that no file opened later gets one of them.

    Writing results to a closed stdout is an error (`stdout_is_closed`); messages to a closed stderr are dropped.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            if os.open(os.devnull, OPPOSITE.get(number, os.O_WRONLY)) == number:  # the lowest free descriptor
                os.set_inheritable(number, True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def stdout_is_closed() -> bool:
    try:
        return fcntl.fcntl(1, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    except OSError:
        return True


def drop_output() -> None:
    """Discard buffered output: Python would report the error again when it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
