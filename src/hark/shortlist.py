"""A shortlist: which tokens a translation may be made of, given those of its source.

A small model spends most of its time on the last product, which gives every token of the vocabulary its chance, and
nearly all of them have none. So many tokens as can be the translation of what is there are enough: those that are
common anyhow, those that have translated one of the source's tokens, and these themselves, which names need.
"""

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hark.errors import UserError

Tokens = NDArray[np.unsignedinteger]
MOST = 255
"""Candidates of one token, at most."""


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Candidates of every source token, one after another: `counts` says how many of them are whose."""

    common: Tokens
    counts: NDArray[np.uint8]
    candidates: Tokens

    @classmethod
    def open(cls, path: Path) -> Self:
        try:
            with np.load(path, allow_pickle=False) as arrays:
                found = cls(arrays["common"], arrays["counts"], arrays["candidates"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise UserError(f"{path}: cannot be read as a shortlist: {error}") from None
        if found.counts.sum() != len(found.candidates):
            raise UserError(f"{path}: cannot be read as a shortlist: its parts do not belong together")
        return found

    def to_bytes(self) -> bytes:
        """The content of its file."""
        file = io.BytesIO()
        np.savez_compressed(file, common=self.common, counts=self.counts, candidates=self.candidates)
        return file.getvalue()

    def of(self, source: int) -> Tokens:
        """What one source token may become, besides what is common."""
        end = int(self.counts[: source + 1].sum())
        return self.candidates[end - int(self.counts[source]) : end]

    def vocabulary_map(self) -> bytes:
        """In CTranslate2's format: a line for each source token; what is common belongs to none."""
        names = [str(token) for token in self.candidates.tolist()]
        lines, end = ["\t" + " ".join(map(str, self.common.tolist()))], 0
        for source, count in enumerate(self.counts.tolist()):
            begin, end = end, end + count
            if count:
                lines.append(f"{source}\t{' '.join(names[begin:end])}")
        return "\n".join(lines).encode()
