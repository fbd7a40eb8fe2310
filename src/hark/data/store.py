"""Token store: the token ids of a corpus, memory-mapped.

A folder with `source.tokens` and `target.tokens` (concatenated ids, little-endian), `source.offsets` and
`target.offsets` (where each sentence starts, int64, one more entry than there are pairs), and `store.json` with the
counts. Text of one side, for language models, has the files of `target` only: what a model predicts. Opening does not
read the ids, so it takes no longer for ten million pairs than for ten.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hark.errors import HarkError, UserError

Side = Literal["source", "target"]
SIDES: tuple[Side, Side] = ("source", "target")
ONE_SIDED: tuple[Side] = ("target",)
"""The side of text that is not a pair: a model predicts it from itself."""
FORMAT = 1
OFFSET = np.dtype("<i8")
FEW = 16
"""Up to this many sentences of a store are faster to copy one by one than to gather."""
COUNTED = 1 << 22
"""Ids counted at a time: numpy converts them to 64-bit integers first."""


def id_type(vocab_size: int) -> np.dtype[Any]:
    """Return the smallest dtype that holds every id of a vocabulary."""
    return np.dtype("<u2" if vocab_size <= 1 << 16 else "<u4")


@dataclass(frozen=True)
class Sentences:
    """Concatenated token ids of many sentences: compact to send between processes and to write to disk."""

    ids: NDArray[np.integer]
    lengths: NDArray[np.int32]

    @classmethod
    def pack(cls, sentences: Sequence[Sequence[int]]) -> Self:
        lengths = np.fromiter(map(len, sentences), np.int32, len(sentences))
        return cls(np.fromiter(chain.from_iterable(sentences), np.int32, int(lengths.sum())), lengths)

    def unpack(self) -> list[list[int]]:
        ids, ends = self.ids.tolist(), np.cumsum(self.lengths, dtype=np.int64).tolist()
        return [ids[end - length : end] for end, length in zip(ends, self.lengths.tolist(), strict=True)]


class StoreWriter:
    """Writes a token store atomically: into a temporary folder that `close` renames to its final name."""

    def __init__(self, folder: Path | str, vocab_size: int, sides: Sequence[Side] = SIDES) -> None:
        self.folder = Path(folder)
        self.vocab_size = vocab_size
        self.pairs = 0
        self.tokens: dict[Side, int] = dict.fromkeys(sides, 0)
        self._partial = self.folder.with_name(f".{self.folder.name}.partial")
        self._files: dict[str, BinaryIO] = {}
        if self.folder.exists():
            raise UserError(f"{self.folder}: already exists; remove it, or name another folder")
        try:
            shutil.rmtree(self._partial, ignore_errors=True)
            self._partial.mkdir(parents=True)
            for side in sides:
                for part in ("tokens", "offsets"):
                    name = f"{side}.{part}"
                    self._files[name] = (self._partial / name).open("wb")
                self._files[f"{side}.offsets"].write(np.zeros(1, OFFSET).tobytes())
        except OSError as error:
            self.discard()
            raise self._failure(error) from error

    def append(self, *sides: Sequence[Sequence[int]]) -> None:
        """Append sentences: those of the source and of the target, or of the only side."""
        self.append_packed(*map(Sentences.pack, sides))

    def append_packed(self, *sides: Sentences) -> None:
        """Append sentences that are already concatenated: a tenth of the time of `append`."""
        counts = [len(sentences.lengths) for sentences in sides]
        if len(set(counts)) > 1:
            raise ValueError(f"{counts[0]} sources but {counts[1]} targets")
        try:
            for side, sentences in zip(self.tokens, sides, strict=True):
                self._write(side, sentences)
        except OSError as error:
            raise self._failure(error) from error
        self.pairs += counts[0]

    def _write(self, side: Side, sentences: Sentences) -> None:
        ids = sentences.ids
        if ids.size and not 0 <= ids.min() <= ids.max() < self.vocab_size:
            raise ValueError(f"token id out of range for a vocabulary of {self.vocab_size}")
        offsets = self.tokens[side] + np.cumsum(sentences.lengths, dtype=np.int64)
        self._files[f"{side}.tokens"].write(ids.astype(id_type(self.vocab_size)).tobytes())
        self._files[f"{side}.offsets"].write(offsets.astype(OFFSET).tobytes())
        self.tokens[side] += ids.size

    def close(self) -> None:
        """Flush all files and rename the store to its final name."""
        try:
            for file in self._files.values():
                file.flush()
                os.fsync(file.fileno())
                file.close()
            about = {
                "format": FORMAT,
                "dtype": id_type(self.vocab_size).name,
                "pairs": self.pairs,
                **{f"{side}_tokens": count for side, count in self.tokens.items()},
            }
            (self._partial / "store.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
            self._partial.rename(self.folder)
        except OSError as error:
            self.discard()
            raise self._failure(error) from error

    def discard(self) -> None:
        """Delete the unfinished store."""
        for file in self._files.values():
            with suppress(OSError):  # the disk is full, and closing flushes; the files are deleted anyway
                file.close()
        shutil.rmtree(self._partial, ignore_errors=True)

    def _failure(self, error: OSError) -> HarkError:
        return HarkError(f"{self.folder}: cannot write the token store: {error.strerror or error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


class TokenStore:
    """Pairs of a corpus, or sentences of one side, as token ids, without BOS and EOS, with constant-time random
    access."""

    def __init__(
        self, folder: Path, tokens: dict[Side, NDArray[np.unsignedinteger]], offsets: dict[Side, NDArray[np.int64]]
    ) -> None:
        self.folder = folder
        self._tokens = tokens
        self._offsets = offsets

    @classmethod
    def open(cls, folder: Path | str) -> Self:
        folder = Path(folder)
        about = _read_about(folder)
        tokens, offsets = {}, {}
        for side in _sides(about):
            count = about[f"{side}_tokens"]
            tokens[side] = _map(folder / f"{side}.tokens", np.dtype(about["dtype"]).newbyteorder("<"), count)
            offsets[side] = _map(folder / f"{side}.offsets", OFFSET, about["pairs"] + 1)
            if offsets[side][0] != 0 or offsets[side][-1] != count:
                raise _damaged(folder / f"{side}.offsets", "offsets do not match the tokens")
        return cls(folder, tokens, offsets)

    def reversed(self) -> "TokenStore":
        """Return the store with source and target exchanged, without copying."""
        source, target = SIDES
        tokens = {source: self._tokens[target], target: self._tokens[source]}
        offsets = {source: self._offsets[target], target: self._offsets[source]}
        return TokenStore(self.folder, tokens, offsets)

    def shortened(self, longest: int) -> "TokenStore":
        """Return the store with only the first `longest` tokens of each sentence; in memory, if any has more."""
        if all(self.lengths(side).max(initial=0) <= longest for side in self.sides):
            return self
        tokens: dict[Side, NDArray[np.unsignedinteger]] = {}
        offsets: dict[Side, NDArray[np.int64]] = {}
        for side in self.sides:
            lengths = self.lengths(side)
            place = np.arange(self.n_tokens(side)) - np.repeat(self._offsets[side][:-1], lengths)
            tokens[side] = self._tokens[side][place < longest]
            offsets[side] = np.concatenate([[0], np.cumsum(np.minimum(lengths, longest), dtype=np.int64)])
        return TokenStore(self.folder, tokens, offsets)

    @property
    def sides(self) -> tuple[Side, ...]:
        return tuple(self._tokens)

    def __len__(self) -> int:
        return len(self._offsets["target"]) - 1

    def __getitem__(self, index: int) -> tuple[NDArray[np.unsignedinteger], ...]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"pair {index} of {len(self)}")
        index %= len(self)
        return tuple(
            self._tokens[side][self._offsets[side][index] : self._offsets[side][index + 1]] for side in self.sides
        )

    @property
    def source_lengths(self) -> NDArray[np.int32]:
        return self.lengths("source")

    @property
    def target_lengths(self) -> NDArray[np.int32]:
        return self.lengths("target")

    def n_tokens(self, side: Side) -> int:
        return len(self._tokens[side])

    def count(self, side: Side, vocab_size: int) -> NDArray[np.int64]:
        """Count how often each id occurs on one side."""
        counts_V = np.zeros(vocab_size, np.int64)
        for start in range(0, self.n_tokens(side), COUNTED):
            counts_V += np.bincount(self._tokens[side][start : start + COUNTED], minlength=vocab_size)
        return counts_V

    def lengths(self, side: Side, indices: NDArray[np.integer] | None = None) -> NDArray[np.int32]:
        """Return the number of tokens of each sentence of one side, or of those at `indices`."""
        offsets = self._offsets[side]
        begin, end = (offsets[:-1], offsets[1:]) if indices is None else (offsets[indices], offsets[indices + 1])
        lengths: NDArray[np.int32] = np.subtract(end, begin).astype(np.int32)
        return lengths

    def stretch(self, begin: int, count: int) -> NDArray[np.unsignedinteger]:
        """Return consecutive tokens of the target, whatever sentences they belong to."""
        return self._tokens["target"][begin : begin + count]

    def sentences(self, indices: NDArray[np.integer], side: Side) -> list[list[int]]:
        """Return the tokens of many sentences as lists of Python integers."""
        return Sentences(*self.gather(indices, side)).unpack()

    def gather(
        self, indices: NDArray[np.integer], side: Side, end: int | None = None
    ) -> tuple[NDArray[np.unsignedinteger], NDArray[np.int32]]:
        """Return the concatenated tokens of many sentences, and their lengths; the id `end`, if given, follows each."""
        offsets, tokens = self._offsets[side], self._tokens[side]
        begin = offsets[indices]
        lengths = (offsets[indices + 1] - begin).astype(np.int32) + np.int32(end is not None)
        ends = np.cumsum(lengths, dtype=np.int64)
        where = np.arange(ends[-1] if len(ends) else 0)
        where += np.repeat(begin - (ends - lengths), lengths)
        # The position of the last `end` is past the last token, hence "clip".
        flat = tokens.take(where, mode="clip") if len(tokens) else np.empty(len(where), tokens.dtype)
        if end is not None:
            flat[ends - 1] = end
        return flat, lengths

    def write(
        self, indices: NDArray[np.integer], side: Side, out: NDArray[np.signedinteger], end: int | None = None
    ) -> list[int]:
        """Write the tokens of sentences to the beginning of `out` and return their lengths; `end` as in `gather`."""
        if len(indices) > FEW:
            flat, widths = self.gather(indices, side, end)
            out[: len(flat)] = flat
            return list(map(int, widths))
        # A batch of hundreds of corpora takes two or three sentences of each, far less work than a call of `gather`.
        offsets, tokens = self._offsets[side], self._tokens[side]
        lengths, at = list[int](), 0
        for index in indices.tolist():
            begin, stop = offsets[index], offsets[index + 1]
            length = int(stop - begin)
            out[at : at + length] = tokens[begin:stop]
            if end is not None:
                out[at + length] = end
                length += 1
            at += length
            lengths.append(length)
        return lengths


def _read_about(folder: Path) -> dict[str, Any]:
    path = folder / "store.json"
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{folder}: not a token store: store.json is missing") from None
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        found = about.get("format") if isinstance(about, dict) else None
        raise UserError(f"{path}: format {found}; this version of hark reads format {FORMAT}; prepare it again")
    counts = [about.get(key) for key in ("pairs", *(f"{side}_tokens" for side in _sides(about)))]
    if about.get("dtype") not in ("uint16", "uint32") or not all(type(n) is int and n >= 0 for n in counts):
        raise _damaged(path, "a count or the dtype is missing or invalid")
    return about


def _sides(about: Mapping[str, Any]) -> tuple[Side, ...]:
    return SIDES if "source_tokens" in about else ONE_SIDED


def _map(path: Path, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    try:
        size = path.stat().st_size
        if size != count * dtype.itemsize:
            raise _damaged(path, f"{size} bytes, expected {count * dtype.itemsize}")
        # An empty file cannot be mapped. The plain view avoids memmap's overhead at every access.
        return np.memmap(path, dtype, "r", shape=(count,)).view(np.ndarray) if count else np.empty(0, dtype)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def _damaged(path: Path, problem: str) -> UserError:
    return UserError(f"{path}: damaged: {problem}; prepare the dataset again")
