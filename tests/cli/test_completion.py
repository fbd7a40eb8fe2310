"""Shell completion, called as a shell calls it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hark.cli.completion import SCRIPTS, completion
from tests.translate.bundles import make_bundle


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with one model, and `hark` on the path."""
    make_bundle(tmp_path / "data/hark/models/my-en-de")
    program = tmp_path / "bin" / "hark"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hark "$@"\n')
    program.chmod(0o755)
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"XDG_DATA_HOME": str(home / "data"), "PATH": path, "HOME": str(home)}


OFFERED = {
    "hark tr": {"translate", "train"},
    "hark help pre": {"prepare"},
    "hark translate --be": {"--beam"},
    "hark translate -m my": {"my-en-de"},
    "hark translate -t ": {"de", "en", "es", "fr", "it", "nl", "pt"},
    "hark translate -t ger": {"german"},
    "hark translate -t d": {"de", "dutch"},
    "hark translate --re": {"--recursive", "--read", "--report"},  # the help of --read is long
    "hark ver": {"version"},
    "hark translate --engine t": {"torch"},
    "hark train ti": {"tiny"},
    "hark train tiny model.dr": {"model.dropout="},
    "hark train tiny model.norm=": {"post", "pre"},  # bash splits words at =
    "hark train --resume x --allow train.st": {"train.steps"},
    "hark translate --search be": {"beam="},
    # Nothing, so bash completes files:
    "hark config -o mi": set(),
    "hark train no": set(),
    "hark translate -m nosuch": set(),
}


@pytest.mark.parametrize("line", ["hark translate --", "hark train data.", "hark ", "hark serve --"])
def test_no_fragment_of_a_help_text_is_offered(home: Path, line: str) -> None:
    """Rich wrapped help texts into lines, such as `ignore=code (XML), paths=items[*].title (JSON)`."""
    asked = {"_HARK_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": line}
    command = [sys.executable, "-m", "hark"]
    done = subprocess.run(command, env=environment(home) | asked, capture_output=True, text=True, check=True)
    for each in done.stdout.splitlines():
        assert re.fullmatch(r"(--)?[a-z][a-z_.-]*=?(\t.+)?", each), each
    if line == "hark translate --":
        assert "--search\tOverride a setting of [decode]; see" in done.stdout  # not taken for markup


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(home: Path) -> None:
    code = 'eval "$(hark completion bash)"\ncompopt() { :; }\n' + "".join(
        f"COMP_LINE='{line}' COMP_POINT={len(line)}; _hark hark; echo \"${{COMPREPLY[*]}}\"\n" for line in OFFERED
    )
    done = subprocess.run(["bash", "-c", code], env=environment(home), capture_output=True, text=True, check=False)
    assert done.stderr == ""
    offered = [set(line.split()) for line in done.stdout.splitlines()]
    assert dict(zip(OFFERED, offered, strict=True)) == OFFERED


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_valid_in_its_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    completion(shell)  # type: ignore[arg-type]
    script = capsys.readouterr().out
    assert "ASKING" not in script
    assert "_HARK_COMPLETE=complete_fish" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    checked = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_every_shell_has_a_script() -> None:
    assert set(SCRIPTS) == {"bash", "zsh", "fish"}
