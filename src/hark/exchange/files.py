"""Bounded reading of the files of foreign models. Nothing in them is executed."""

import json
from pathlib import Path
from typing import Any

from hark.errors import UserError, require
from hark.weights import Array, read_weights

MAX_FILE_BYTES = 64 << 20
"""Of a settings file or vocabulary; the largest public ones have 17 MB."""
SHARDS = "model.safetensors.index.json"
BIN, BIN_SHARDS = "pytorch_model.bin", "pytorch_model.bin.index.json"
SAFE = "model.safetensors"


def read_bounded(path: Path) -> bytes:
    """Read a small file; an implausibly large one is refused."""
    try:
        if (size := path.stat().st_size) > MAX_FILE_BYTES:
            raise UserError(f"{path}: has {size:,} bytes, more than the {MAX_FILE_BYTES:,} of any known model")
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def read_json(path: Path) -> dict[str, Any]:
    """Read a file that contains a JSON object."""
    try:
        tree = json.loads(read_bounded(path))
    except (ValueError, RecursionError):
        raise UserError(f"{path}: not valid JSON; the file is damaged or incomplete") from None
    if not isinstance(tree, dict):
        raise UserError(f"{path}: must be a JSON object")
    return tree


def read_optional_json(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}


def read_huggingface_weights(folder: Path) -> dict[str, Array]:
    """The weights of a Hugging Face folder in float32: safetensors if there, else pytorch_model.bin without pickle."""
    for whole, index, read in ((SAFE, SHARDS, read_weights), (BIN, BIN_SHARDS, read_bin)):
        if (folder / whole).is_file():
            return read(folder / whole)
        if (folder / index).is_file():
            files = shards(folder, index, Path(whole).suffix)
            return {name: array for path in files for name, array in read(path).items()}
    raise UserError(f"{folder}: no weights; {SAFE} or {BIN} is needed")


def shards(folder: Path, index: str, suffix: str) -> list[Path]:
    """The files that an index lists, which must lie in the same folder."""
    table = read_json(folder / index).get("weight_map")
    if not isinstance(table, dict) or not table:
        raise UserError(f"{folder / index}: has no weight_map")
    names = sorted({str(name) for name in table.values()})
    for name in names:
        if Path(name).name != name or not name.endswith(suffix):
            raise UserError(f"{folder / index}: {name!r} is not the name of a {suffix} file in this folder")
        if not (folder / name).is_file():
            raise UserError(f"{folder}: {name} is missing; download the model again")
    return [folder / name for name in names]


def read_bin(path: Path) -> dict[str, Array]:
    """Read a file of `torch.save` with `weights_only`, so that no code in it can run."""
    require("torch", "train", f"reading {path.name} (convert it to safetensors otherwise)")
    import torch

    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # torch raises many kinds, also for files without mmap support
        try:  # the format of torch before 1.6, which cannot be memory-mapped
            tensors = torch.load(path, map_location="cpu", weights_only=True)
        except Exception as again:
            if "weights_only" in str(again) or "Unsupported" in str(again):
                raise UserError(
                    f"{path}: contains code or objects other than tensors, and hark runs none; use safetensors"
                ) from None
            raise UserError(f"{path}: cannot be read: damaged, incomplete, or not a file of torch.save") from error
    if not isinstance(tensors, dict) or not all(isinstance(each, torch.Tensor) for each in tensors.values()):
        raise UserError(f"{path}: not a dictionary of tensors")
    return {str(name): each.detach().float().numpy() for name, each in tensors.items() if each.is_floating_point()}
