"""The commands of a newcomer, from raw text to a model, with the text that comes with hark."""

import lzma
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

import hark
from hark.data.sample import paths
from tests.cli.running import make_runner

LINES = 500
"""Of each file: the whole sample takes ten seconds to prepare."""


def hark_command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hark", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def test_from_text_to_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Verbs that import PyTorch run in this process, which has imported it.
    def run(verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        return make_runner(verb, tmp_path, {}, monkeypatch, capfd)(*words)

    files = []
    for use, sides in paths().items():
        files.append(f"--{use}")
        for path in sides:
            name = Path(path).name.removesuffix(".xz")
            with lzma.open(path, "rt", encoding="utf-8") as lines:
                (tmp_path / name).write_text("".join(islice(lines, LINES)), encoding="utf-8")
            files.append(name)
    prepare = ["prepare", "--pair", "en", "de", *files, "--vocab", "1000", "--processes", "1", "-o", "mine"]
    prepared = hark_command(*prepare, folder=tmp_path)
    assert prepared.returncode == 0, prepared.stderr
    assert "500 pairs read" in prepared.stdout

    small = [
        "model.d_model=32",
        "model.d_ff=64",
        "model.n_heads=2",
        "model.n_encoder_layers=1",
        "model.n_decoder_layers=1",
        "batches.batch_tokens=600",
    ]
    steps = ["train.steps=12", "train.save_steps=4", "train.log_steps=4", "train.eval_steps=6"]
    trained = run("train", "data.dataset=mine", *small, *steps, "-o", "runs/mine")
    assert trained.returncode == 0, trained.stderr
    assert trained.stdout == ""
    assert "finished at step 12" in trained.stderr

    listed = hark_command("runs", folder=tmp_path)
    assert "mine" in listed.stdout
    assert "finished" in listed.stdout
    drawn = hark_command("plot", "runs/mine", "-o", "curves.html", "--no-open", folder=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert "<svg" in (tmp_path / "curves.html").read_text()

    averaged = run("average", "runs/mine", "--last", "3", "-o", "model")
    assert averaged.stdout == "model: average of steps 4, 8, 12\n", averaged.stderr
    assert hark.load(tmp_path / "model").config.model.vocab_size == 1000
    assert "nothing to do" in run(*prepare).stdout
    refused = run("train", "data.dataset=mine", "-o", "runs/mine")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "run exists; resume it with" in refused.stderr
