"""Reading of GGUF, the files of llama.cpp: metadata, then tensors, many of them in blocks of a few bits a number.

Everything is read with numpy from a mapped file, and nothing in it is executed. Sizes are little-endian; the axes of a
tensor are listed from the last to the first.
"""

import mmap
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hark.errors import UserError
from hark.weights import Array

MAGIC = b"GGUF"
VERSIONS = (2, 3)
ALIGNMENT = 32
"""Bytes that the place of a tensor is a multiple of, unless the metadata says otherwise."""
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Formats of `struct`, by the type of a value."""
STRING, ARRAY = 8, 9
MAX_AXES = 4


def halves(raw: Array) -> Array:
    """Two bytes each as a number of 16 bits."""
    numbers: Array = np.ascontiguousarray(raw).view("<f2").astype(np.float32)
    return numbers


def nibbles(raw: Array) -> Array:
    """The lower four bits of all bytes, then the upper ones."""
    return np.concatenate([raw & 15, raw >> 4], axis=-1)


def q4_0(raw: Array) -> Array:
    return halves(raw[:, :2]) * (nibbles(raw[:, 2:]).astype(np.float32) - 8)


def q4_1(raw: Array) -> Array:
    return halves(raw[:, :2]) * nibbles(raw[:, 4:]) + halves(raw[:, 2:4])


def q8_0(raw: Array) -> Array:
    return halves(raw[:, :2]) * raw[:, 2:].view(np.int8)


def q6_k(raw: Array) -> Array:
    """Four bits and two more of each number, in two halves of 128; a scale for every 16, and one for all."""
    low = nibbles(raw[:, :128].reshape(-1, 2, 64))
    shifts = np.array([0, 2, 4, 6], np.uint8)[:, None]
    high = (raw[:, 128:192].reshape(-1, 2, 1, 32) >> shifts) & 3
    values = (low | (high.reshape(-1, 2, 128) << 4)).astype(np.float32) - 32
    scales = raw[:, 192:208].view(np.int8) * halves(raw[:, 208:])
    numbers: Array = (values.reshape(-1, 16, 16) * scales[:, :, None]).reshape(-1, 256)
    return numbers


def bf16(raw: Array) -> Array:
    numbers: Array = (np.ascontiguousarray(raw).view("<u2").astype(np.uint32) << 16).view(np.float32)
    return numbers


@dataclass(frozen=True)
class Quantisation:
    """How numbers are stored."""

    name: str
    numbers: int
    """In a block."""
    size: int
    """Bytes of a block."""
    restore: Callable[[Array], Array]
    """From blocks of bytes, one a row, to rows of float32."""


QUANTISATIONS = {
    0: Quantisation("F32", 1, 4, lambda raw: np.ascontiguousarray(raw).view("<f4")),
    1: Quantisation("F16", 1, 2, halves),
    2: Quantisation("Q4_0", 32, 18, q4_0),
    3: Quantisation("Q4_1", 32, 20, q4_1),
    8: Quantisation("Q8_0", 32, 34, q8_0),
    14: Quantisation("Q6_K", 256, 210, q6_k),
    30: Quantisation("BF16", 1, 2, bf16),
}
OTHERS = {6: "Q5_0", 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 15: "Q8_K"}


@dataclass(frozen=True)
class StoredTensor:
    shape: tuple[int, ...]
    kind: int
    offset: int
    """From the beginning of all tensors."""


class GgufFile:
    """The metadata and the tensors of a file."""

    def __init__(self, path: Path) -> None:
        self.path, self._place = path, 0
        try:
            with path.open("rb") as file:
                self._raw = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        except ValueError:
            raise UserError(f"{path}: the file is empty") from None
        if self._raw[:4] != MAGIC:
            raise UserError(f"{path}: not a GGUF file")
        try:
            self._read_header()
        except (struct.error, ValueError, KeyError, OverflowError):
            raise self.damaged() from None

    def damaged(self) -> UserError:
        return UserError(f"{self.path}: the GGUF file is damaged or incomplete; download it again")

    def _read_header(self) -> None:
        self._place = len(MAGIC)
        version = self._number("I")
        if version not in VERSIONS:
            raise UserError(f"{self.path}: version {version} of GGUF is not supported; hark reads 2 and 3")
        tensors, entries = self._number("Q"), self._number("Q")
        self.metadata: dict[str, Any] = {}
        for _ in range(entries):
            name = self._string()
            self.metadata[name] = self._value(self._number("I"))
        self.tensors: dict[str, StoredTensor] = {}
        for _ in range(tensors):
            name, axes = self._string(), self._number("I")
            if not 0 < axes <= MAX_AXES:
                raise ValueError(axes)
            shape = tuple(reversed([self._number("Q") for _ in range(axes)]))
            self.tensors[name] = StoredTensor(shape, self._number("I"), self._number("Q"))
        self._start = self._place + -self._place % self.metadata.get("general.alignment", ALIGNMENT)

    def _number(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self._raw, self._place)
        self._place += struct.calcsize(f"<{code}")
        return value

    def _string(self) -> str:
        size = self._number("Q")
        content = self._raw[self._place : self._place + size]
        if len(content) < size:
            raise ValueError(size)
        self._place += size
        return content.decode("utf-8", errors="replace")

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind != ARRAY:
            return self._number(NUMBERS[kind])
        inner, count = self._number("I"), self._number("Q")
        if inner == STRING:
            return [self._string() for _ in range(count)]
        found = np.frombuffer(self._raw, f"<{NUMBERS[inner]}", count, self._place)  # refuses more than there is
        self._place += found.nbytes
        return found.tolist()

    @property
    def storage(self) -> str:
        """The names of all quantisations of matrices."""
        kinds = {each.kind for each in self.tensors.values() if len(each.shape) > 1}
        return ", ".join(sorted(QUANTISATIONS[kind].name for kind in kinds))

    def read(self, name: str) -> Array:
        """A tensor in float32."""
        stored = self.tensors[name]
        kind = QUANTISATIONS.get(stored.kind)
        if kind is None:
            there = OTHERS.get(stored.kind, f"type {stored.kind}")
            known = ", ".join(each.name for each in QUANTISATIONS.values())
            raise UserError(f"{self.path}: {name} is stored as {there}, which hark does not read; it reads {known}")
        count = int(np.prod(stored.shape, dtype=object))
        blocks, rest = divmod(count, kind.numbers)
        start = self._start + stored.offset
        if rest or start + blocks * kind.size > len(self._raw):
            raise self.damaged()
        raw = np.frombuffer(self._raw, np.uint8, blocks * kind.size, start).reshape(blocks, kind.size)
        with np.errstate(invalid="ignore", over="ignore"):  # `check_weights` names a tensor that is not finite
            return kind.restore(raw).reshape(stored.shape)
