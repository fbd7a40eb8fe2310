"""Exceptions for users: one line that states the problem and the remedy.

Any other exception that reaches the command line is a bug in hark.
"""

import os
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

DISTRIBUTION = "hark-translate"
"""Name of the package on PyPI, where `hark` is an unrelated package."""
CPU_TORCH = "torch==2.13.0"
"""The version in constraints.txt. With pip it is a small CPU build; a looser requirement pulls gigabytes of CUDA."""
NVIDIA = (Path("/proc/driver/nvidia"), Path("/dev/dxg"))
"""Paths that exist on Linux where PyTorch's CUDA build finds a GPU; the second is for WSL."""


class HarkError(Exception):
    """A valid request failed: a full disk, a missing extra."""

    exit_code = 1


class UserError(HarkError):
    """The request is invalid: a wrong key, a missing file, text that is not UTF-8."""

    exit_code = 2


class MissingExtraError(HarkError, ImportError):
    """A package is missing that only an extra installs."""


class HarkWarning(UserWarning):
    """A warning for users. The command line prints it as one line."""


def warn_skipped(path: Path, error: OSError) -> None:
    """Say, once, that an optional file or folder is skipped because it cannot be read; nothing if there is none.

    The folder that bars the way is named, so that all that is in it takes one line.
    """
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return
    barred = next((each for each in reversed(path.parents) if not os.access(each, os.X_OK)), path)
    warnings.warn(f"{barred}: cannot be read: {error.strerror}; going on without it", HarkWarning, stacklevel=1)


def require(package: str, extra: str, needed_by: str) -> None:
    """Raise an error that names the remedy unless `package`, part of `extra`, is installed."""
    parent = package.rpartition(".")[0]
    if (parent and find_spec(parent) is None) or find_spec(package) is None:
        raise MissingExtraError(f"{needed_by} requires {package}: {how_to_install(extra)}")


def how_to_install(extra: str) -> str:
    """The command that installs an extra, without gigabytes of CUDA libraries where there is no GPU."""
    command = f"pip install '{DISTRIBUTION}[{extra}]'"
    # Outside Linux, the wheels of PyTorch come without CUDA.
    if extra != "train" or sys.platform != "linux" or find_spec("torch") or any(each.exists() for each in NVIDIA):
        return command
    return f"{command} {CPU_TORCH}"
