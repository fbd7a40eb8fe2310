"""The script of `make demo`, with a stand-in for hark. Its text is tested in test_demo_text.py."""

import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

STAND_IN = """#!/usr/bin/env bash
printf '%q ' "$@" >>"$CALLS"; echo >>"$CALLS"
if [ "$1" = "${STOP_AT:-}" ]; then echo waiting; exec sleep 600; fi
if [ "$1" = "${FAIL_AT:-}" ]; then echo "what went wrong" >&2; exit 2; fi
if [ "$2" = -m ]; then sed "s|^|by $3: |" "$5" >"$7"; fi
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A folder with the checkout's examples, whose runs/ may be removed, and a hark that writes down its arguments."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "temporary").mkdir()
    hark = tmp_path / "hark"
    hark.write_text(STAND_IN)
    hark.chmod(0o755)
    return {
        **os.environ,
        "HARK": str(hark),
        "HARK_PYTHON": "echo counted by",
        "CALLS": str(tmp_path / "calls"),
        "TMPDIR": str(tmp_path / "temporary"),
    }


def start(tmp_path: Path, environment: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(tmp_path / "examples" / "demo.sh")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_it_translates_first_then_measures_around_the_training(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "runs" / "demo").mkdir(parents=True)  # of an earlier demo
    demo = start(tmp_path, environment)
    output, errors = demo.communicate()
    assert (demo.returncode, errors) == (0, "")
    calls = [shlex.split(line) for line in (tmp_path / "calls").read_text().splitlines()]
    verbs = [call[0] for call in calls]
    assert verbs == [*["translate"] * 7, "prepare", "evaluate", "train", "evaluate", "translate"]
    assert not (tmp_path / "runs" / "demo").exists()
    for file in re.findall(r"examples/[\w./-]+", (tmp_path / "calls").read_text()):
        assert (ROOT / file).is_file()
    announced = [line.split()[:2] for line in output.split("\n1. ")[0].splitlines()[1:]]
    assert [number.rstrip(",") for number, _ in announced] == ["1", "3", "4", "5", "6", "7", "8"]
    assert len(re.findall(r"^\(\d+ s\)$", output, re.MULTILINE)) == 8
    assert not any((tmp_path / "temporary").iterdir())


def test_it_shows_translations_before_and_after_beside_the_reference(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    output, _ = start(tmp_path, environment).communicate()
    source = "Do the quiet hours also apply to the piano?"
    reference = "Gilt das Ruhefenster auch für das Klavier?"
    assert f"\n{source}\n  model   by en-de: {source}\n  house   {reference}\n" in output
    assert (
        f"\n{source}\n  before  by en-de: {source}\n  after   by runs/demo: {source}\n  house   {reference}\n" in output
    )


@pytest.mark.parametrize("verb", ["translate", "prepare", "train"])
def test_ctrl_c_ends_it(verb: str, tmp_path: Path, environment: dict[str, str]) -> None:
    demo = start(tmp_path, environment | {"STOP_AT": verb})
    assert demo.stdout is not None
    while demo.stdout.readline() not in ("waiting\n", ""):
        pass
    os.killpg(demo.pid, signal.SIGINT)
    output, errors = demo.communicate()
    assert (demo.returncode, errors) == (130, "")
    assert output.endswith("Stopped. make demo starts again from the beginning.\n")
    assert not any((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("verb", ["translate", "prepare", "evaluate", "train"])
def test_an_error_ends_it(verb: str, tmp_path: Path, environment: dict[str, str]) -> None:
    demo = start(tmp_path, environment | {"FAIL_AT": verb})
    output, errors = demo.communicate()
    assert (demo.returncode, errors) == (2, "what went wrong\n")
    assert "Done" not in output
