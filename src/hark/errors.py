"""What a person is told when something cannot be done: one line, with the way out.

Anything else that is raised is a defect of ours.
"""

from importlib.util import find_spec


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
        raise MissingExtraError(f"{needed_by} needs {package}, which is not installed: pip install 'hark[{extra}]'")
