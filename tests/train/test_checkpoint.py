"""Checkpoints: atomic, verified on loading, and refused with a clear message if damaged."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from hark.errors import UserError
from hark.rundir import RunDir
from hark.train import checkpoint
from tests.runs import losses

TENSORS = {"model": {"a": torch.arange(6.0).reshape(2, 3), "b": torch.zeros(())}, "adam": {"step.a": torch.tensor(3.0)}}
STATE = {"progress": {"step": 7, "best": 0.1}}


def test_round_trip(tmp_path: Path) -> None:
    size = checkpoint.save(tmp_path / "step-7", TENSORS, STATE)
    tensors, state = checkpoint.load(tmp_path / "step-7")
    assert state == STATE
    assert size == sum(path.stat().st_size for path in (tmp_path / "step-7").iterdir())
    for file, values in TENSORS.items():
        assert all(torch.equal(tensors[file][name], value) for name, value in values.items())


def test_a_checkpoint_has_no_pickle(tmp_path: Path) -> None:
    checkpoint.save(tmp_path / "step-7", TENSORS, STATE)
    assert {path.suffix for path in (tmp_path / "step-7").iterdir()} == {".json", ".safetensors"}


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: flip_a_bit(f / "model.safetensors"), "model.safetensors: damaged or modified: wrong sha256"),
        (lambda f: os.truncate(f / "adam.safetensors", 30), "adam.safetensors: damaged: 30 bytes, expected "),
        (lambda f: (f / "state.json").unlink(), "state.json: missing; the hark checkpoint is incomplete"),
        (lambda f: (f / "manifest.json").unlink(), "not a hark checkpoint: manifest.json is missing or invalid"),
        (lambda f: (f / "manifest.json").write_text("{"), "not a hark checkpoint: manifest.json is missing or invalid"),
        (lambda f: edit(f / "manifest.json", kind="hark bundle"), "not a hark checkpoint, but a hark bundle"),
        (lambda f: edit(f / "manifest.json", format=99), "has format 99; this version of hark reads format 1"),
    ],
)
def test_a_damaged_checkpoint_is_a_user_error(tmp_path: Path, damage: Callable[[Path], object], message: str) -> None:
    folder = tmp_path / "step-7"
    checkpoint.save(folder, TENSORS, STATE)
    damage(folder)
    with pytest.raises(UserError) as raised:
        checkpoint.load(folder)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_damaged_checkpoint_can_be_removed_to_resume(trained: Callable[..., RunDir]) -> None:
    run = trained("run", "train.steps=4", "train.save_steps=2")
    flip_a_bit(run.checkpoints / "step-4" / "model.safetensors")
    with pytest.raises(UserError, match=r"sha256.*remove .*step-4 to resume from the previous checkpoint"):
        trained("run", "train.steps=6", resumed=True)
    import shutil

    shutil.rmtree(run.checkpoints / "step-4")
    assert set(losses(trained("run", "train.steps=6", resumed=True))) == {1, 2, 3, 4, 5, 6}


def test_a_checkpoint_of_another_model_is_refused(trained: Callable[..., RunDir]) -> None:
    run = trained("run", "train.steps=2")
    config = run.config.read_text()
    run.config.write_text(config.replace("d_ff = 32", "d_ff = 48"))
    with pytest.raises(UserError, match=r"feed_forward.* has a different shape \(.*in the file, .*in the model\)"):
        trained("run", "train.steps=4", resumed=True)
    run.config.write_text(config.replace("n_decoder_layers = 1", "n_decoder_layers = 2"))
    with pytest.raises(UserError, match=r"weights do not match the model \(first difference: decoder.layers.1"):
        trained("run", "train.steps=4", resumed=True)


def test_other_batch_settings_are_refused(trained: Callable[..., RunDir]) -> None:
    run = trained("run", "train.steps=2")
    run.config.write_text(run.config.read_text().replace("batch_tokens = 200", "batch_tokens = 100"))
    with pytest.raises(UserError, match="batch settings"):
        trained("run", "train.steps=4", resumed=True)


def test_a_dataset_with_another_tokenizer_is_refused(trained: Callable[..., RunDir]) -> None:
    run = trained("run", "train.steps=2")
    folder = run.checkpoints / "step-2"
    tensors, state = checkpoint.load(folder)
    checkpoint.save(folder, tensors, {**state, "tokenizers": {"tokenizer.model": "0" * 64}})
    with pytest.raises(UserError, match=r"encoded with a different tokenizer than .*step-2; restore it"):
        trained("run", "train.steps=4", resumed=True)


FILL_THE_DISK = """
import resource, signal, sys, torch
from pathlib import Path
from hark.errors import HarkError
from hark.train import checkpoint
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
small, large = ({"model": {"a": torch.zeros(n)}} for n in (10, 100_000))
checkpoint.save(folder / "step-1", small, {})
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    checkpoint.save(folder / "step-2", large, {})
except HarkError as error:
    print(error)
"""


def test_a_full_disk_leaves_the_previous_checkpoint_intact(tmp_path: Path) -> None:
    """A limit on file size simulates the full disk: writing fails half-way."""
    assert resource.RLIMIT_FSIZE
    run = subprocess.run(
        [sys.executable, "-c", FILL_THE_DISK, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert "step-2: cannot be written:" in run.stdout, run.stderr
    assert "earlier checkpoints are intact" in run.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["step-1"]
    checkpoint.load(tmp_path / "step-1")
