"""Vocabulary shortlists: the output tokens that are likely, given the tokens of the source.

A small model spends most of its time on the output layer, which computes a logit for every token of the vocabulary,
though few are plausible. A shortlist restricts the output to common tokens, likely translations of the source's tokens,
and the source's tokens themselves, which names need.
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
MAX_CANDIDATES = 255
"""Per source token."""


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Common tokens, and the candidates of all source tokens concatenated, with `counts` per source token."""

    common: Tokens
    counts: NDArray[np.uint8]
    candidates: Tokens

    @classmethod
    def open(cls, path: Path) -> Self:
        try:
            with np.load(path, allow_pickle=False) as arrays:
                shortlist = cls(arrays["common"], arrays["counts"], arrays["candidates"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise UserError(f"{path}: not a valid shortlist: {error}") from None
        if shortlist.counts.sum() != len(shortlist.candidates):
            raise UserError(f"{path}: not a valid shortlist: counts and candidates do not match")
        return shortlist

    def to_bytes(self) -> bytes:
        """The content of the file."""
        file = io.BytesIO()
        np.savez_compressed(file, common=self.common, counts=self.counts, candidates=self.candidates)
        return file.getvalue()

    def of(self, source: int) -> Tokens:
        """The candidates of a source token, without the common tokens."""
        end = int(self.counts[: source + 1].sum())
        return self.candidates[end - int(self.counts[source]) : end]

    def vocabulary_map(self) -> bytes:
        """The shortlist in CTranslate2's format: one line per source token, and common tokens without one."""
        names = [str(token) for token in self.candidates.tolist()]
        lines, end = ["\t" + " ".join(map(str, self.common.tolist()))], 0
        for source, count in enumerate(self.counts.tolist()):
            begin, end = end, end + count
            if count:
                lines.append(f"{source}\t{' '.join(names[begin:end])}")
        return "\n".join(lines).encode()
