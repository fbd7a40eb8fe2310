"""From a trained run to translated text, with the commands themselves and both engines."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hark
from hark.rundir import RunDir
from tests.cli.running import make_runner

DOCUMENT = """# the small house

  - the cat sees {name} at https://example.com/a?b=c
  - %1$s old dogs have 12.5 kg\t👍

they run to the tree. we like it!\r
THE CAT SEES A SMALL RED HOUSE
"""


def translate(run: Path, text: str) -> str:
    command = [sys.executable, "-m", "hark", "translate", "-m", str(run)]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


WITH_TORCH = ("--engine", "torch", "--device", "cpu")


@pytest.fixture
def translate_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Translates the document on the command line, in this process, which has imported PyTorch."""
    hark = make_runner("translate", tmp_path, {}, monkeypatch, capfd)
    (tmp_path / "document").write_bytes(DOCUMENT.encode())

    def run(run: Path, *words: str) -> str:
        done = hark("-m", str(run), *words, "document")
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_trained_run_translates_and_loses_nothing(
    trained: Callable[..., RunDir], translate_here: Callable[..., str]
) -> None:
    run = trained("run", "train.eval_steps=10").path
    text = translate(run, DOCUMENT)
    lines, expected = text.split("\n"), DOCUMENT.split("\n")
    assert len(lines) == len(expected)
    assert [line.startswith(("# ", "  - ")) for line in lines] == [line.startswith(("# ", "  - ")) for line in expected]
    assert [not line.strip() for line in lines] == [not line.strip() for line in expected]
    assert lines[5].endswith("\r")
    for item in ("{name}", "https://example.com/a?b=c", "%1$s", "12,5 kg", "\t👍"):
        assert text.count(item) == 1, item

    ours = translate_here(run, *WITH_TORCH, "--json")
    theirs = translate_here(run, "--precision", "float32", "--json")
    for one, other in zip(map(json.loads, ours.splitlines()), map(json.loads, theirs.splitlines()), strict=True):
        assert (one["text"], one["flags"]) == (other["text"], other["flags"])


def test_the_same_from_python(trained: Callable[..., RunDir], translate_here: Callable[..., str]) -> None:
    run = trained("run", "train.eval_steps=10")
    model = hark.load(run.best, engine="torch", device="cpu")  # its translations are independent of the batch
    whole = model.translate(DOCUMENT)
    by_line = list(model.translate(DOCUMENT.splitlines(keepends=True)))
    assert whole.text == "".join(each.text for each in by_line)
    assert whole.text == translate_here(run.path, *WITH_TORCH)

    many = [f"the cat {i} sees a tree" if i % 3 else "" for i in range(20)]
    results = list(model.translate(iter(many), beam=1))
    assert [each.source for each in results] == many
    alone = [model.translate(text, beam=1).text for text in many[:6]]
    assert [each.text for each in results[:6]] == alone
