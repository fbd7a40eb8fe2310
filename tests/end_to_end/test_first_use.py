"""The commands of a newcomer, from raw text to a model, with the text that comes with hark."""

import subprocess
import sys
from pathlib import Path

import hark
from hark.data.sample import paths


def hark_command(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hark", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def test_from_text_to_a_model(tmp_path: Path) -> None:
    sample = paths()
    files = [word for use in ("train", "dev", "test") for word in (f"--{use}", *sample[use])]
    prepared = hark_command("prepare", "--pair", "en", "de", *files, "--vocab", "2000", "-o", "mine", folder=tmp_path)
    assert prepared.returncode == 0, prepared.stderr
    assert "20,000 pairs read" in prepared.stdout

    small = [
        "model.d_model=32",
        "model.d_ff=64",
        "model.n_heads=2",
        "model.n_encoder_layers=1",
        "model.n_decoder_layers=1",
        "batches.batch_tokens=600",
    ]
    steps = ["train.steps=12", "train.save_steps=4", "train.log_steps=4", "train.eval_steps=6"]
    trained = hark_command("train", "data.dataset=mine", *small, *steps, "-o", "runs/mine", folder=tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert trained.stdout == ""
    assert "finished at step 12" in trained.stderr

    listed = hark_command("runs", folder=tmp_path)
    assert "mine" in listed.stdout
    assert "finished" in listed.stdout
    drawn = hark_command("plot", "runs/mine", "-o", "curves.html", "--no-open", folder=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert "<svg" in (tmp_path / "curves.html").read_text() or "<canvas" in (tmp_path / "curves.html").read_text()
    averaged = hark_command("average", "runs/mine", "--last", "3", "-o", "model", folder=tmp_path)
    assert averaged.stdout == "model: average of steps 4, 8, 12\n", averaged.stderr
    assert hark.load(tmp_path / "model").config.model.vocab_size == 2000

    again = hark_command("prepare", "--pair", "en", "de", *files, "--vocab", "2000", "-o", "mine", folder=tmp_path)
    assert "nothing to do" in again.stdout
    refused = hark_command("train", "data.dataset=mine", "-o", "runs/mine", folder=tmp_path)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "run exists; resume it with" in refused.stderr
