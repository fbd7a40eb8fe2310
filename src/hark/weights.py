"""Weights on the disk, by numpy alone: how they are read without torch, and how they are stored in fewer bits.

A weight file is a safetensors file: an eight-byte length, a JSON header, and the arrays. A matrix NAME may be stored in
int8 with the factors of its rows beside it, as `NAME.scale`: its numbers are `NAME / NAME.scale`. The factors are those
that CTranslate2 would choose while loading, so that it computes the same from either.
"""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from hark.bundle import SHORTLIST, Bundle, name_of, write_bundle
from hark.card import default_summary
from hark.config import CorpusConfig
from hark.errors import HarkError, UserError
from hark.facts import Facts, ParentModel

Array = NDArray[Any]
Weights = Mapping[str, Array]
Storage = Literal["float32", "bfloat16", "float16", "int8"]
"""What matrices are stored in. Biases and norms, which are few, are always float32."""

STORED = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1"}
CODES = {np.dtype("<f4"): "F32", np.dtype("<f2"): "F16", np.dtype("<u2"): "BF16", np.dtype("i1"): "I8"}
SCALE = ".scale"
BLOCK_ELEMENTS = 1 << 17
"""Elements that are quantised at a time: few enough to stay in a core's cache between the passes over them."""


def read_weights(path: Path) -> dict[str, Array]:
    """The arrays of a file in float32, or in int8 with their factors; mapped and not read, where they can be.

    It is read here because numpy, and with it safetensors' reader for numpy, has no bfloat16.
    """
    try:
        raw = np.memmap(path, mode="r")
        start = 8 + struct.unpack("<Q", raw[:8].tobytes())[0]
        header = json.loads(raw[8:start].tobytes())
        header.pop("__metadata__", None)
        weights = {name: _read_array(raw[start:], **entry) for name, entry in header.items()}
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise UserError(f"{path}: cannot be read as weights: {error}") from None
    for name, array in weights.items():
        if array.dtype == np.int8 and name + SCALE not in weights:
            raise UserError(f"{path}: cannot be read as weights: {name} is in int8 and has no {name + SCALE}")
    return weights


def _read_array(raw: Array, dtype: str, shape: list[int], data_offsets: tuple[int, int]) -> Array:
    array = raw[slice(*data_offsets)].view(STORED[dtype]).reshape(shape)
    match dtype:
        case "F32" | "I8":
            return array
        case "BF16":  # the upper half of a float32
            return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32)


def write_weights(path: Path, weights: Weights) -> None:
    """A safetensors file whose bytes depend on the weights alone; bfloat16 comes as its upper halves, in uint16."""
    # The widest first, so that each is aligned to its own width.
    order = sorted(weights, key=lambda name: (-weights[name].itemsize, name))
    header, end = {}, 0
    for name in order:
        start, end = end, end + weights[name].nbytes
        about = {"dtype": CODES[weights[name].dtype], "shape": list(weights[name].shape), "data_offsets": [start, end]}
        header[name] = about
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            file.write(np.ascontiguousarray(weights[name]).data)


def store(weights: Weights, storage: Storage) -> dict[str, Array]:
    """Weights of float32 as they are to be written."""
    matrices = {name: array for name, array in weights.items() if array.ndim == 2 and is_product(name)}
    match storage:
        case "float32":
            made: dict[str, Array] = dict(matrices)
        case "float16":
            made = {name: matrix.astype("<f2") for name, matrix in matrices.items()}
        case "bfloat16":
            made = {name: to_bfloat16(matrix) for name, matrix in matrices.items()}
        case "int8":
            made = {}
            for name, (matrix, scale) in zip(matrices, quantise(list(matrices.values())), strict=True):
                made[name], made[name + SCALE] = matrix, scale
        case _:
            assert_never(storage)
    return {name: array.astype("<f4") for name, array in weights.items() if name not in matrices} | made


def is_product(name: str) -> bool:
    """Whether products are made with a matrix. A table of positions is added as it is."""
    return not name.endswith("positions.weight")


def to_bfloat16(array: Array) -> Array:
    """The upper halves of float32, rounded to nearest and to even between two."""
    whole = np.ascontiguousarray(array, "<f4").view("<u4")
    return ((whole + np.uint32(0x7FFF) + ((whole >> 16) & 1)) >> 16).astype("<u2")


def quantise(matrices: Sequence[Array]) -> list[tuple[Array, Array]]:
    """Each matrix in int8, and the factor of each of its rows, by which it was multiplied; on all cores.

    The largest weight of a row becomes 127.
    """
    results = [(np.empty(each.shape, np.int8), np.empty(len(each), np.float32)) for each in matrices]

    def fill(job: tuple[int, int, int]) -> None:
        which, first, last = job
        block = matrices[which][first:last]
        largest = np.maximum(block.max(axis=1), -block.min(axis=1))
        scale = np.divide(127, largest, out=np.full_like(largest, 1), where=largest > 0)
        results[which][1][first:last] = scale
        scaled = block * scale[:, None]
        np.rint(scaled, out=scaled)
        results[which][0][first:last] = scaled

    jobs = []
    for which, matrix in enumerate(matrices):
        rows = max(1, BLOCK_ELEMENTS // matrix.shape[1])
        jobs += [(which, first, first + rows) for first in range(0, len(matrix), rows)]
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(fill, jobs):
            pass
    return results


def restore(matrix: Array, scale: Array) -> Array:
    """A matrix of int8 in float32."""
    restored: Array = matrix.astype(np.float32) / scale[:, None]
    return restored


def read_floats(bundle: Bundle) -> dict[str, Array]:
    """The weights of a bundle in float32, whatever they are stored in."""
    weights = read_weights(bundle.weights)
    return {
        name: restore(array, weights[name + SCALE]) if array.dtype == np.int8 else array
        for name, array in weights.items()
        if not name.endswith(SCALE)
    }


def shrink(bundle: Bundle, folder: Path, storage: Storage, force: bool = False) -> None:
    """Write a bundle again, with its matrices stored in fewer bits; with `force`, even in the place of the first."""
    weights = read_weights(bundle.weights)
    if any(array.dtype == np.int8 for array in weights.values()):
        raise UserError(f"{bundle.folder}: is stored in int8 already, which loses something; start from the original")
    write_again(bundle, folder, weights, storage, bundle.facts, force)


def average(bundles: Sequence[Bundle], folder: Path, storage: Storage, force: bool = False) -> None:
    """The mean of models that began as one, such as one before and after its fine-tuning, with what is the last one's.

    It is often better than either: what each has learnt besides is kept, what is chance cancels out.
    """
    *others, last = bundles
    for other in others:
        if other.config.model != last.config.model or other.vocabulary_files != last.vocabulary_files:
            raise UserError(
                f"{other.folder}: differs from {last.folder} in shape or vocabulary; only models that began as one "
                "have a mean"
            )
    sums: dict[str, Array] = {}
    for bundle in bundles:
        for name, array in read_floats(bundle).items():
            sums[name] = sums[name] + array if name in sums else array.astype(np.float64)
    weights = {name: (total / len(bundles)).astype(np.float32) for name, total in sums.items()}
    write_again(last, folder, weights, storage, facts_of_mean(bundles), force)


def facts_of_mean(bundles: Sequence[Bundle]) -> Facts:
    """The last one's, without what was measured on it, and with all that any of them was trained on."""
    facts = bundles[-1].facts
    text = {each.name: each for bundle in bundles for each in bundle.facts.text}
    averaged = tuple(ParentModel("averaged", name_of(bundle.folder)) for bundle in bundles)
    making = replace(
        facts.making,
        weights=f"the mean of those of {len(bundles)} models",
        parents=facts.making.parents + averaged,
    )
    facts = replace(facts.unmeasured, making=making, text=tuple(text.values()))
    return replace(facts, summary=default_summary(facts, bundles[-1].config.model))


def write_again(bundle: Bundle, folder: Path, weights: Weights, storage: Storage, facts: Facts, force: bool) -> None:
    """A bundle with other weights.

    Where things lay on the machine that trained it is left out: such a bundle is made to be given away.
    """
    stored, config = store(weights, storage), bundle.config
    train, dev, test = (without_folders(each) for each in (config.data.train, config.data.dev, config.data.test))
    data = replace(config.data, dataset="", tokenizer="", train=train, dev=dev, test=test)
    config = replace(config, data=data, train=replace(config.train, from_=""))
    facts = replace(facts, making=replace(facts.making, storage=storage))
    try:
        write_bundle(folder, config, lambda path: write_weights(path, stored), files_of(bundle), facts, force)
    except OSError as error:
        raise HarkError(f"{folder}: cannot be written: {error.strerror}; what was there before is untouched") from None


def without_folders(corpora: Iterable[CorpusConfig]) -> tuple[CorpusConfig, ...]:
    return tuple(replace(each, source=Path(each.source).name, target=Path(each.target).name) for each in corpora)


def files_of(bundle: Bundle) -> dict[str, bytes]:
    """What belongs to any weights of this shape: the vocabulary, and a shortlist where there is one."""
    shortlist = {SHORTLIST: bundle.shortlist.read_bytes()} if bundle.shortlist else {}
    return {**bundle.vocabulary_files, **shortlist}
