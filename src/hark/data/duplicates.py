"""Duplicate detection in memory that does not grow with the corpus.

If there are too many hashes for memory, they are partitioned into files by their first bits, so equal ones land in the
same file; then one file at a time is sorted.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hark.errors import HarkError
from hark.facts import LanguagePair

HASH_BYTES = 16
PARTITIONS = 128  # a power of two, at most 256; a billion pairs make files of 190 MB
BUFFER = 1 << 18  # hashes in memory before they are written to the files
RECORD = np.dtype([("high", ">u8"), ("low", ">u8"), ("index", "<i8")])


def pair_hash(source: str, target: str, directions: Sequence[LanguagePair] = ()) -> bytes:
    """Return a 16-byte hash of a pair; the length prefix marks where the source ends.

    With `directions`, the same text in other languages has another hash. If there are two, a pair and its reverse have
    the same hash.
    """
    prefix = ""
    if directions:
        (one, source), (other, target) = zip(directions[0], (source, target), strict=True)
        if len(directions) > 1:
            (one, source), (other, target) = sorted([(one, source), (other, target)])
        prefix = f"{one}{'-' if len(directions) > 1 else '>'}{other} "
    text = f"{prefix}{len(source)} {source}{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=HASH_BYTES).digest()


class DuplicateFinder:
    """Collects the hashes of pairs, in files once they are many, then finds the pairs that repeat an earlier one."""

    def __init__(self, folder: Path, partitions: int = PARTITIONS, buffer: int = BUFFER) -> None:
        self.folder, self.partitions, self.buffer = folder, partitions, buffer
        self.pending: list[npt.NDArray[np.void]] = []
        self.n_pending = 0
        self.spilled = False
        self.files = [folder / f"hashes.{number:03}" for number in range(partitions)]
        for file in self.files:
            file.unlink(missing_ok=True)

    def add(self, first_index: int, hashes: Sequence[bytes]) -> None:
        """Add the hashes of consecutive pairs, starting at `first_index`. Calls may come in any order."""
        records = np.empty(len(hashes), RECORD)
        halves = np.frombuffer(b"".join(hashes), ">u8").reshape(-1, 2)
        records["high"], records["low"] = halves[:, 0], halves[:, 1]
        records["index"] = np.arange(first_index, first_index + len(hashes))
        self.pending.append(records)
        self.n_pending += len(records)
        if self.n_pending >= self.buffer:
            self.flush()

    def flush(self) -> None:
        if not self.pending:
            return
        records = np.concatenate(self.pending)
        self.pending, self.n_pending, self.spilled = [], 0, True
        # The top bits of the hash select the file.
        files = (records["high"] >> np.uint64(56)).astype(np.int64) * self.partitions // 256
        order = np.argsort(files, kind="stable")
        borders = np.searchsorted(files[order], np.arange(self.partitions + 1))
        try:
            for number, file in enumerate(self.files):
                part = records[order[borders[number] : borders[number + 1]]]
                if len(part):
                    with file.open("ab") as out:
                        out.write(part.tobytes())
        except OSError as error:
            raise HarkError(f"{self.folder}: cannot write: {error.strerror}") from error

    def find(self) -> npt.NDArray[np.int64]:
        """Return the indices, in order, of all pairs that repeat an earlier pair."""
        if self.spilled:
            self.flush()
            found = [repeats(np.fromfile(file, RECORD)) for file in self.files if file.exists()]
        else:
            found = [repeats(np.concatenate([np.empty(0, RECORD), *self.pending]))]
        return np.sort(np.concatenate([np.zeros(0, np.int64), *found]))


def repeats(records: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """Return the indices of records whose hash also occurs at a lower index."""
    ordered = records[np.lexsort((records["index"], records["low"], records["high"]))]
    same = (ordered["high"][1:] == ordered["high"][:-1]) & (ordered["low"][1:] == ordered["low"][:-1])
    indexes: npt.NDArray[np.int64] = ordered["index"][1:][same].astype(np.int64)
    return indexes
