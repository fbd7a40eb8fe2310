"""The command line run in this process, which is much faster than a separate one."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hark.cli import main

Hark = Callable[..., subprocess.CompletedProcess[str]]


def make_runner(
    verb: str,
    folder: Path,
    files: Mapping[str, Sequence[str]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Hark:
    """A function that runs a verb in a folder with some text files."""
    monkeypatch.chdir(folder)
    for name, lines in files.items():
        Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        monkeypatch.setattr(sys, "argv", ["hark", verb, *words])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(words, int(left.value.code or 0), out, err)

    return run


def fake_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make stdout and stderr look like a terminal."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)


def figures(done: subprocess.CompletedProcess[str]) -> Any:
    """The output of --json."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one-line error of a command that failed."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    return line
