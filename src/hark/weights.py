"""Reading, writing, quantising and averaging of weights with numpy, without torch.

A weight file is a safetensors file: an eight-byte length, a JSON header, and the arrays. A matrix NAME may be stored in
int8, with a scale per row in `NAME.scale`: its values are `NAME / NAME.scale`. The scales are those that CTranslate2
would choose on loading, so it computes the same from either.
"""

import json
import mmap
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from hark.bundle import SHORTLIST, Bundle, name_of, write_bundle
from hark.card import default_summary
from hark.config import CorpusConfig, ModelConfig
from hark.errors import HarkError, UserError
from hark.facts import Facts, ParentModel

Array = NDArray[Any]
Weights = Mapping[str, Array]
Storage = Literal["float32", "bfloat16", "float16", "int8"]
"""The data type of stored matrices. Biases and norms, which are small, are always float32."""

STORED = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1", "I64": "<i8"}
CODES = {np.dtype("<f4"): "F32", np.dtype("<f2"): "F16", np.dtype("<u2"): "BF16", np.dtype("i1"): "I8"}
SCALE = ".scale"
BLOCK_ELEMENTS = 1 << 17
"""Elements quantised at a time: few enough to stay in a core's cache."""


def read_weights(path: Path) -> dict[str, Array]:
    """Read the arrays of a file in float32, or in int8 with scales; memory-mapped if possible.

    safetensors' numpy reader does not support bfloat16.
    """
    file = WeightFile(path)
    raw = file.map()
    return {name: file.read(raw, name) for name in file}


class WeightFile(Mapping[str, Array]):
    """The arrays of a weight file, each mapped anew when it is asked for.

    Nothing stays in memory when the caller drops an array. With `read_weights`, all pages that were ever read count as
    memory of the process for as long as one array is in use.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        raw = self.map()
        try:
            self._start = 8 + struct.unpack("<Q", raw[:8].tobytes())[0]
            self._header: dict[str, Any] = json.loads(raw[8 : self._start].tobytes())
            self._header.pop("__metadata__", None)
            quantised = [name for name, entry in self._header.items() if entry["dtype"] == "I8"]
        except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
            raise UserError(f"{path}: not a valid weight file: {error}") from None
        for name in quantised:
            if name + SCALE not in self._header:
                raise UserError(f"{path}: not a valid weight file: {name} is int8, but {name + SCALE} is missing")

    def map(self) -> Array:
        """Map the whole file, as a plain array: np.memmap and its views take three times as long to make."""
        try:
            with self.path.open("rb") as file:
                return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
        except (OSError, ValueError) as error:
            raise UserError(f"{self.path}: not a valid weight file: {error}") from None

    def read(self, raw: Array, name: str) -> Array:
        """Read an array of the mapped file."""
        try:
            return _read_array(raw[self._start :], **self._header[name])
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{self.path}: not a valid weight file: {error}") from None

    def __getitem__(self, name: str) -> Array:
        if name not in self._header:
            raise KeyError(name)
        return self.read(self.map(), name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._header)

    def __len__(self) -> int:
        return len(self._header)


def _read_array(raw: Array, dtype: str, shape: list[int], data_offsets: tuple[int, int]) -> Array:
    array = raw[slice(*data_offsets)].view(STORED[dtype]).reshape(shape)
    match dtype:
        case "F32" | "I8":
            return array
        case "BF16":  # the upper half of a float32
            return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32)


def write_weights(path: Path, weights: Weights, metadata: Mapping[str, str] | None = None) -> None:
    """Write a deterministic safetensors file. bfloat16 arrays are passed as uint16."""
    # Widest types first, so that every array is aligned.
    order = sorted(weights, key=lambda name: (-weights[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name in order:
        start, end = end, end + weights[name].nbytes
        entry = {"dtype": CODES[weights[name].dtype], "shape": list(weights[name].shape), "data_offsets": [start, end]}
        header[name] = entry
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            file.write(np.ascontiguousarray(weights[name]).data)


def store(weights: Weights, storage: Storage) -> dict[str, Array]:
    """Convert float32 weights to a storage type."""
    matrices = {name: array for name, array in weights.items() if array.ndim == 2 and is_product(name)}
    match storage:
        case "float32":
            stored: dict[str, Array] = dict(matrices)
        case "float16":
            stored = {name: matrix.astype("<f2") for name, matrix in matrices.items()}
        case "bfloat16":
            stored = {name: to_bfloat16(matrix) for name, matrix in matrices.items()}
        case "int8":
            stored = {}
            for name, (matrix, scale) in zip(matrices, quantise(list(matrices.values())), strict=True):
                stored[name], stored[name + SCALE] = matrix, scale
        case _:
            assert_never(storage)
    return {name: array.astype("<f4") for name, array in weights.items() if name not in matrices} | stored


def is_product(name: str) -> bool:
    """Whether a matrix is used in matrix products; a table of positions is added instead."""
    return not name.endswith("positions.weight")


def to_bfloat16(array: Array) -> Array:
    """bfloat16 as uint16: the upper halves of float32, rounded to nearest even."""
    whole = np.ascontiguousarray(array, "<f4").view("<u4")
    return ((whole + np.uint32(0x7FFF) + ((whole >> 16) & 1)) >> 16).astype("<u2")


def quantise(matrices: Sequence[Array]) -> list[tuple[Array, Array]]:
    """Quantise matrices to int8 on all cores. Return each with the scale of each row.

    A row is multiplied by its scale, which maps its largest magnitude to 127.
    """
    results = [(np.empty(each.shape, np.int8), np.empty(len(each), np.float32)) for each in matrices]

    def fill(block_range: tuple[int, int, int]) -> None:
        index, first, last = block_range
        block = matrices[index][first:last]
        largest = np.maximum(block.max(axis=1), -block.min(axis=1))
        scale = np.divide(127, largest, out=np.full_like(largest, 1), where=largest > 0)
        results[index][1][first:last] = scale
        scaled = block * scale[:, None]
        np.rint(scaled, out=scaled)
        results[index][0][first:last] = scaled

    blocks = []
    for index, matrix in enumerate(matrices):
        rows = max(1, BLOCK_ELEMENTS // matrix.shape[1])
        blocks += [(index, first, first + rows) for first in range(0, len(matrix), rows)]
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(fill, blocks):
            pass
    return results


def restore(matrix: Array, scale: Array) -> Array:
    """Dequantise an int8 matrix to float32."""
    restored: Array = matrix.astype(np.float32) / scale[:, None]
    return restored


def read_floats(bundle: Bundle) -> dict[str, Array]:
    """Read the weights of a bundle as float32, whatever their storage type."""
    return as_floats(read_weights(bundle.weights))


def as_floats(weights: Weights) -> dict[str, Array]:
    """Dequantise the matrices that are stored in int8."""
    return {
        name: restore(array, weights[name + SCALE]) if array.dtype == np.int8 else array
        for name, array in weights.items()
        if not name.endswith(SCALE)
    }


def shrink(bundle: Bundle, folder: Path, storage: Storage, force: bool = False) -> None:
    """Write a copy of a bundle with matrices stored in fewer bits; with `force`, it may replace the original."""
    weights = read_weights(bundle.weights)
    if any(array.dtype == np.int8 for array in weights.values()):
        raise UserError(f"{bundle.folder}: already int8, which is lossy; start from the original model")
    rewrite(bundle, folder, weights, storage, bundle.facts, force)


def average(bundles: Sequence[Bundle], folder: Path, storage: Storage, force: bool = False) -> None:
    """Average models with common initial weights, such as a model before and after fine-tuning.

    The average is often better than either. Settings and facts are the last model's.
    """
    *others, last = bundles
    for other in others:
        if other.config.model != last.config.model or other.vocabulary_files != last.vocabulary_files:
            raise UserError(
                f"{other.folder}: differs from {last.folder} in architecture or vocabulary; only models with common "
                "initial weights can be averaged"
            )
    sums: dict[str, Array] = {}
    for bundle in bundles:
        for name, array in read_floats(bundle).items():
            sums[name] = sums[name] + array if name in sums else array.astype(np.float64)
    weights = {name: (total / len(bundles)).astype(np.float32) for name, total in sums.items()}
    rewrite(last, folder, weights, storage, facts_of_average(bundles), force)


def facts_of_average(bundles: Sequence[Bundle]) -> Facts:
    """The last model's facts without measurements, with the training text of all models."""
    facts = bundles[-1].facts.unmeasured
    text = {each.name: each for bundle in bundles for each in bundle.facts.text}
    averaged = tuple(ParentModel("averaged", name_of(bundle.folder)) for bundle in bundles)
    making = replace(
        facts.making,
        weights=f"average of {len(bundles)} models",
        parents=facts.making.parents + averaged,
    )
    facts = replace(facts, making=making, text=tuple(text.values()))
    return replace(facts, summary=default_summary(facts, bundles[-1].config.model))


def rewrite(bundle: Bundle, folder: Path, weights: Weights, storage: Storage, facts: Facts, force: bool) -> None:
    """Write a copy of a bundle with other weights, without paths of the machine that trained it."""
    stored, config = store(weights, storage), bundle.config
    train, dev, test = (without_folders(each) for each in (config.data.train, config.data.dev, config.data.test))
    data = replace(config.data, dataset="", tokenizer="", train=train, dev=dev, test=test)
    config = replace(config, data=data, train=replace(config.train, from_=""))
    facts = replace(facts, making=replace(facts.making, storage=storage))
    try:
        write_bundle(folder, config, lambda path: write_weights(path, stored), files_of(bundle), facts, force)
    except OSError as error:
        raise HarkError(f"{folder}: cannot be written: {error.strerror}; existing files are unchanged") from None


def without_folders(corpora: Iterable[CorpusConfig]) -> tuple[CorpusConfig, ...]:
    return tuple(replace(each, source=Path(each.source).name, target=Path(each.target).name) for each in corpora)


def files_of(bundle: Bundle) -> dict[str, bytes]:
    """The files that do not depend on the weights: the vocabulary, and the shortlist if any."""
    shortlist = {SHORTLIST: bundle.shortlist.read_bytes()} if bundle.shortlist else {}
    return {**bundle.vocabulary_files, **shortlist}


def sinusoids(config: ModelConfig) -> Array:
    """The same table as in `hark.model.positions`, by the same operations in float64, so that it is identical."""
    d_model, half = config.d_model, config.d_model // 2
    first, last = config.position_offset, config.position_offset + config.max_positions
    if config.positions == "sinusoidal_t2t":
        exponent = np.arange(half, dtype=np.float64) / max(1, half - 1)
    else:
        exponent = np.arange(0, d_model, 2, dtype=np.float64) / d_model
    angle = np.arange(first, last)[:, None] / 10000**exponent
    sines, cosines = np.sin(angle), np.cos(angle)
    if config.positions != "sinusoidal":
        return np.concatenate((sines, cosines), axis=-1).astype(np.float32)
    return np.stack((sines, cosines), axis=-1).reshape(-1, d_model).astype(np.float32)
