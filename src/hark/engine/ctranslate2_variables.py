"""The variables of a CTranslate2 model: named arrays, quantised to the stored type and written as its model.bin."""

import platform
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

import numpy as np

from hark.machine import cpu_features
from hark.weights import SCALE, Array, Weights, quantise, restore

BINARY_VERSION, SPEC, REVISION = 6, "TransformerSpec", 7
TYPES = {np.dtype(name): number for number, name in enumerate(("float32", "int8", "int16", "int32", "float16"))}
INT16_LARGEST = 1 << 10
"""The largest value of int16 weights. CTranslate2 uses ten bits, so that sums of products do not overflow."""

HALVES = np.rint(np.arange(256, dtype=np.uint8).view(np.int8) / 2).astype(np.int8)
"""Half of each 8-bit number, by its bits."""

StoredType = Literal["float32", "float16", "int16", "int8", "int7"]
"""int7: int8 with weights of at most 64, for CPUs that saturate larger products (`saturation`)."""


@dataclass
class Variables:
    """The named arrays of a CTranslate2 model, and their serialisation."""

    stored_type: StoredType
    arrays: dict[str, Array] = field(default_factory=dict)
    matrices: dict[str, tuple[Array, Array | None]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def number(self, name: str, value: float, dtype: str = "int8") -> None:
        self.arrays[name] = np.array(value, dtype)

    def array(self, name: str, array: Array) -> None:
        self.arrays[name] = np.ascontiguousarray(array, np.float32)

    def matrix(self, name: str, matrix: Array, scale: Array | None) -> None:
        """Add a weight matrix of a matrix product; it will be quantised, or already is if it has a `scale`."""
        self.matrices[name] = matrix, scale

    def stored(self, name: str, weights: Weights, stored: str) -> None:
        """Add a weight matrix in its stored form."""
        self.matrix(name, weights[stored], weights.get(stored + SCALE))

    def alias(self, name: str, other: str) -> None:
        """Add a second name for a shared matrix (paper, 3.4)."""
        self.aliases[f"{name}/weight"] = f"{other}/weight"
        if self.stored_type in ("int8", "int7", "int16"):
            self.aliases[f"{name}/weight_scale"] = f"{other}/weight_scale"

    def parts(self) -> Iterator[bytes | memoryview]:
        """The parts of the file."""
        arrays = dict(self.arrays)
        match self.stored_type:
            case "int8" | "int7":
                wide = [name for name, (_, scale) in self.matrices.items() if scale is None]
                quantised = dict(zip(wide, quantise([self.matrices[name][0] for name in wide]), strict=True))
                for name, (matrix, scale) in self.matrices.items():
                    whole = quantised[name] if scale is None else (matrix, scale)
                    arrays[f"{name}/weight"], arrays[f"{name}/weight_scale"] = whole
            case "int16":
                for name, matrix in self._floats():
                    factor = np.float32(INT16_LARGEST / max(np.abs(matrix).max(), np.finfo(np.float32).tiny))
                    arrays[f"{name}/weight"] = np.rint(matrix * factor).astype(np.int16)
                    arrays[f"{name}/weight_scale"] = np.array(factor)
            case "float32" | "float16":
                arrays |= {f"{name}/weight": matrix for name, matrix in self._floats()}
        if self.stored_type == "float16":
            arrays = {name: _to_half(array) for name, array in arrays.items()}
        yield from self._parts(arrays)

    def _is_quantised(self, name: str) -> bool:
        """Whether an array is a quantised matrix, or its scales."""
        return name.removesuffix("_scale").removesuffix("/weight") in self.matrices

    def _floats(self) -> Iterator[tuple[str, Array]]:
        """The matrices in float32."""
        for name, (matrix, scale) in self.matrices.items():
            yield name, np.ascontiguousarray(matrix) if scale is None else restore(matrix, scale)

    def _parts(self, arrays: Mapping[str, Array]) -> Iterator[bytes | memoryview]:
        """The parts of the file: version, specification and revision; variables; aliases."""
        yield struct.pack("=I", BINARY_VERSION) + _string(SPEC) + struct.pack("=II", REVISION, len(arrays))
        for name, full in arrays.items():
            array = _halve(full) if self.stored_type == "int7" and self._is_quantised(name) else full
            shape = struct.pack(f"={array.ndim}I", *array.shape)
            size = struct.pack("=BI", TYPES[array.dtype], array.nbytes)
            yield _string(name) + struct.pack("=B", array.ndim) + shape + size
            yield array.reshape(-1).view(np.uint8).data
        yield struct.pack("=I", len(self.aliases))
        for name, other in self.aliases.items():
            yield _string(name) + _string(other)


def _halve(array: Array) -> Array:
    return HALVES[array.view(np.uint8)] if array.dtype == np.int8 else array / 2


def _to_half(array: Array) -> Array:
    # Single numbers, such as the scale of queries, keep their type: CTranslate2 reads them as they are.
    return array.astype(np.float16) if array.dtype == np.float32 and array.ndim else array


def _string(text: str) -> bytes:
    return struct.pack("=H", len(text) + 1) + text.encode() + b"\0"


X86 = ("x86_64", "amd64", "i386", "i686")
SUMS_IN_32_BITS = "avx512_vnni"


@cache
def saturates() -> bool:
    """Whether sums of 8-bit products are cut off. An x86 CPU that is not known to have VNNI counts as one that does."""
    return platform.machine().lower() in X86 and SUMS_IN_32_BITS not in cpu_features()
