"""Which strings of JSON, YAML and TOML are translated: those at the chosen paths, or all but identifiers."""

import re
from collections.abc import Sequence

from hark.documents.formats import DocumentError
from hark.documents.messages import is_identifier

_NOT_TEXT = frozenset(
    """
    id ids uuid key keys type kind class lang language locale code url uri href src path file filename icon image color
    colour slug version date format charset encoding target ref
    """.split()  # noqa: SIM905
)
"""Keys whose values are not language."""
_STEP = re.compile(r"\*\*|\[(\*|\d+)\]|\.?(\*|[^.\[\]]+)|\.")


class KeyPaths:
    """Chooses strings by the keys and indexes that lead to them."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._patterns = [compile_path(path) for path in paths]
        self._used: set[int] = set()

    def takes(self, path: Sequence[str | int], value: str) -> bool:
        if self._patterns:
            written = write_path(path)
            chosen = {number for number, pattern in enumerate(self._patterns) if pattern.fullmatch(written)}
            self._used |= chosen
            return bool(chosen)
        keys = [step for step in path if isinstance(step, str)]
        if any(key.startswith("@") for key in keys) or (keys and keys[-1].lower() in _NOT_TEXT):
            return False
        return not is_identifier(value)

    def check(self) -> None:
        """Raise an error if a path leads nowhere."""
        for number, path in enumerate(self._paths):
            if number not in self._used:
                raise DocumentError(f"no string is at {path}; write paths as items[*].title")


def write_path(path: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def compile_path(path: str) -> re.Pattern[str]:
    """A pattern for paths such as items[*].title, *.label or **.text."""
    pattern = ""
    for step in _STEP.finditer(path.removeprefix("$")):
        if step[0] == "**":
            pattern += r"(?:\.[^.\[\]]+|\[\d+\])*"
        elif step[1]:
            pattern += r"\[\d+\]" if step[1] == "*" else rf"\[{step[1]}\]"
        elif step[2]:
            pattern += r"\.[^.\[\]]+" if step[2] == "*" else rf"\.{re.escape(step[2])}"
    return re.compile(pattern)
