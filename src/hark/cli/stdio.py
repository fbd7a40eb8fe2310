"""Standard streams that were closed when hark started (`>&-`, some daemons)."""

import fcntl
import os
import sys

OPPOSITE = {0: os.O_WRONLY, 1: os.O_RDONLY}
"""How /dev/null takes the place of stdin and stdout: reading the one and writing the other is still an error."""


def fill_missing_streams() -> None:
    """Keep the numbers 0, 1 and 2 taken: a file that is opened later would get one, and be written to by mistake.

    Results that cannot be written are an error when they are written (`stdout_is_closed`); talk is dropped.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            if os.open(os.devnull, OPPOSITE.get(number, os.O_WRONLY)) == number:  # the lowest number that is free
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
    """What is still in the buffers goes nowhere: Python would complain once more while it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
