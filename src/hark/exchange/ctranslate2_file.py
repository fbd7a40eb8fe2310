"""Reading of CTranslate2's model.bin: a list of named arrays. Quantised matrices are restored to float32."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hark.errors import UserError
from hark.weights import Array

SPEC = "TransformerSpec"
VERSIONS = (4, 5, 6)
"""Versions of the file format: since 4, arrays have a type number and a size in bytes."""
TYPES = ("<f4", "<i1", "<i2", "<i4", "<f2", "<u2")
"""By type number; the last is bfloat16."""
MOST_ARRAYS = 100_000


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The arrays of a model, memory-mapped, by name; aliases are resolved."""

    path: Path
    arrays: dict[str, Array]
    bfloat16: frozenset[str]

    @classmethod
    def read(cls, path: Path) -> "ModelFile":
        try:
            return _Reader(path).read()
        except (OSError, ValueError, IndexError, struct.error, KeyError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: not a model.bin of CTranslate2, or incomplete ({error})") from None

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def first_name(self, *names: str) -> str:
        """The first of these names that the model has."""
        for name in names:
            if name in self:
                return name
        raise UserError(f"{self.path}: the array {names[0]} is missing; the architecture is not supported")

    def number(self, name: str, default: float) -> float:
        """A scalar, such as a number of heads."""
        return float(self.arrays[name].reshape(-1)[0]) if name in self.arrays else default

    def floats(self, name: str) -> Array:
        """An array in float32, restored if it is quantised."""
        if name not in self.arrays:
            raise UserError(f"{self.path}: the array {name} is missing; the architecture is not supported")
        array = self.arrays[name]
        if name in self.bfloat16:
            return (array.astype(np.uint32) << 16).view(np.float32)
        if array.dtype.kind == "f":
            return array.astype(np.float32, copy=False)
        scale = self.arrays.get(f"{name}_scale")
        if scale is None:
            raise UserError(f"{self.path}: {name} is quantised, but has no scale")
        scale = scale.astype(np.float32)
        restored: Array = array.astype(np.float32) / (scale.reshape(-1, 1) if scale.size > 1 else scale.reshape(()))
        return restored

    @property
    def storage(self) -> str:
        """The type of the stored matrices."""
        kinds = {array.dtype.name for name, array in self.arrays.items() if array.ndim == 2}
        if self.bfloat16:
            return "bfloat16"
        return next((kind for kind in ("int8", "int16", "float16") if kind in kinds), "float32")


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.raw: Any = np.memmap(path, mode="r") if path.stat().st_size else np.zeros(0, np.uint8)
        self.at = 0

    def read(self) -> ModelFile:
        (version,) = self.unpack("=I")
        if version not in VERSIONS:
            raise ValueError(f"version {version} of the format, only {', '.join(map(str, VERSIONS))} are known")
        spec = self.string()
        if spec != SPEC:
            raise ValueError(f"a {spec!r}, not an encoder-decoder")
        _, count = self.unpack("=II")
        if count > MOST_ARRAYS:
            raise ValueError(f"{count} arrays")
        arrays: dict[str, Array] = {}
        bfloat16 = set()
        for _ in range(count):
            name = self.string()
            (rank,) = self.unpack("=B")
            shape = self.unpack(f"={rank}I")
            kind, size = self.unpack("=BI")
            data = self.raw[self.at : self.at + size]
            if len(data) != size:
                raise ValueError(f"ends within {name}")
            self.at += size
            if kind == len(TYPES) - 1:
                bfloat16.add(name)
            arrays[name] = np.frombuffer(data, TYPES[kind]).reshape(shape)
        (aliases,) = self.unpack("=I")
        for _ in range(min(aliases, MOST_ARRAYS)):
            name, other = self.string(), self.string()
            arrays[name] = arrays[other]
            if other in bfloat16:
                bfloat16.add(name)
        return ModelFile(self.path, arrays, frozenset(bfloat16))

    def unpack(self, form: str) -> tuple[int, ...]:
        size = struct.calcsize(form)
        found = struct.unpack(form, self.raw[self.at : self.at + size].tobytes())
        self.at += size
        return found

    def string(self) -> str:
        (length,) = self.unpack("=H")
        text: bytes = self.raw[self.at : self.at + length].tobytes()
        if len(text) != length:
            raise ValueError("ends within a name")
        self.at += length
        return text.removesuffix(b"\0").decode()
