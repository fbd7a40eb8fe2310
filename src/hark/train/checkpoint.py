"""Checkpoints: everything a run needs to resume exactly where it stopped. No pickle.

`checkpoints/step-N/` holds `model.safetensors` (the weights by name), `adam.safetensors` (`exp_avg.NAME`,
`exp_avg_sq.NAME` and `step.NAME`; `momentum.NAME` for Muon), `ema.safetensors` if the run keeps a moving average,
`state.json` (progress, position in the stream of batches, sums since the last record) and `manifest.json` (size and
sha256 of each file).
"""

import errno
import json
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from hark import manifest
from hark.atomic import new_folder
from hark.errors import HarkError, UserError
from hark.model.weights import read_tensors

KIND = "hark checkpoint"
FORMAT = 1
STATE = "state.json"


def save(folder: Path, tensors: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]) -> int:
    """Write a checkpoint atomically, with tensors by file and name, and return its size in bytes."""
    try:
        with new_folder(folder, partial(manifest.is_kind, kind=KIND), force=True) as new:
            for name, values in tensors.items():
                write_tensors(new / f"{name}.safetensors", values)
            (new / STATE).write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")
            manifest.seal(new, KIND, FORMAT)
    except OSError as error:
        raise HarkError(f"{folder}: cannot be written: {error.strerror}; earlier checkpoints are intact") from error
    return sum(path.stat().st_size for path in folder.iterdir())


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    try:
        safetensors.torch.save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:  # wraps OSError
        if "No space left" in str(error) or "File too large" in str(error):
            raise OSError(errno.ENOSPC, "no space left on the disk") from error
        raise OSError(errno.EIO, str(error)) from error


def load(folder: Path) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Verify a checkpoint, and return its tensors and state."""
    manifest.verify(folder, KIND, FORMAT)
    tensors = {path.stem: read_tensors(path) for path in sorted(folder.glob("*.safetensors"))}
    return tensors, json.loads((folder / STATE).read_text(encoding="utf-8"))


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))


def list_checkpoints(checkpoints: Path) -> list[Path]:
    """The complete checkpoints, oldest first. Unfinished ones have other names."""
    found = (path for path in checkpoints.glob("step-*") if path.name.removeprefix("step-").isdigit())
    return sorted(found, key=step_of)


def latest(checkpoints: Path) -> Path:
    found = list_checkpoints(checkpoints)
    if not found:
        raise UserError(f"{checkpoints}: no checkpoint to resume from; start the run again")
    return found[-1]


def prune(checkpoints: Path, keep: int) -> None:
    """Remove all but the newest `keep` checkpoints."""
    for folder in list_checkpoints(checkpoints)[:-keep]:
        shutil.rmtree(folder)
