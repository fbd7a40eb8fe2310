"""What a person is told when something cannot be done: one line, with the way out.

Anything else that is raised is a defect of ours.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

DISTRIBUTION = "hark-translate"
"""What pip calls hark. `hark` on the public index is somebody else's package."""
NVIDIA = (Path("/proc/driver/nvidia"), Path("/dev/dxg"))
"""What Linux shows of a GPU that PyTorch's CUDA build can use; the second within Windows (WSL)."""


class HarkError(Exception):
    """Something failed although it was asked for correctly: a full disk, a missing extra."""

    exit_code = 1


class UserError(HarkError):
    """The request itself cannot be met: a wrong key, a missing file, text that is not UTF-8."""

    exit_code = 2


class MissingExtraError(HarkError, ImportError):
    """A part of hark needs packages that the plain install leaves out."""


class HarkWarning(UserWarning):
    """Something that a person should know of, and that stops nothing. The command line shows it as one line."""


def require(package: str, extra: str, needed_by: str) -> None:
    """Refuse in one line, and name the remedy, when `package` of an optional extra is not installed."""
    if find_spec(package) is None:
        raise MissingExtraError(f"{needed_by} needs {package}, which is not installed: {how_to_install(extra)}")


def how_to_install(extra: str) -> str:
    """The command that installs an extra, without gigabytes of CUDA where there is no GPU to use them."""
    command = f"pip install '{DISTRIBUTION}[{extra}]'"
    # Elsewhere than on Linux, PyTorch has no CUDA unless it is asked for.
    if extra != "train" or sys.platform != "linux" or find_spec("torch") or any(each.exists() for each in NVIDIA):
        return command
    return f"{command} --extra-index-url https://download.pytorch.org/whl/cpu"  # a line to copy, to its end
