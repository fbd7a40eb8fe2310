"""Finds the most similar text among many: an index of words picks candidates, which are then compared."""

import math
import re
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

import numpy as np

from hark.errors import require

SIMILAR = 0.75
"""Minimum similarity: twice the length of the longest common subsequence, as a share of both texts."""
CANDIDATES = 100
"""Texts that share most words with a text: these are compared with it."""
POSTINGS = 50_000
"""Entries of the index to look at for a text. Rare words come first, which tell more."""
STEM = 5
"""Letters of a word that are compared: endings differ."""
SHORT, LONG = 5, 15
"""Texts of at most SHORT words, and words of more than LONG letters, as in scripts without spaces, are also compared by
three letters at a time."""
_BUCKETS = 1 << 20
_WORD = re.compile(r"\w+")


class SimilarTexts:
    """An index of texts. It takes about 150 bytes of memory for a text; the texts are in a temporary file."""

    def __init__(self, texts: Iterable[str]) -> None:
        require("rapidfuzz", "documents", "finding similar texts in a memory")
        self._texts = sqlite3.connect("")  # a file without a name, which goes when it is closed
        self._texts.execute("PRAGMA journal_mode = OFF")
        self._texts.execute("CREATE TABLE texts (number INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        lengths, entries = array("L"), array("Q")

        def rows() -> Iterator[tuple[int, str]]:
            for number, text in enumerate(texts):
                lengths.append(len(text))
                entries.extend(word << 32 | number for word in _words(text))
                yield number, text

        self._texts.executemany("INSERT INTO texts VALUES (?, ?)", rows())
        self._lengths = np.array(lengths, np.uint32)
        sorted_entries = np.frombuffer(entries, np.uint64)
        sorted_entries.sort()
        self._numbers = (sorted_entries & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        """The texts of the first word, then those of the second, and so on."""
        self._starts = np.searchsorted(sorted_entries, np.arange(_BUCKETS + 1, dtype=np.uint64) << np.uint64(32))
        """Where the texts of each word begin."""

    def find(self, text: str) -> tuple[str, float] | None:
        """The text that is most similar to another one, and its similarity; None if none is similar enough."""
        from rapidfuzz import fuzz, process

        found: Any = process.extractOne(
            text, self._candidates(text), scorer=fuzz.ratio, processor=None, score_cutoff=100 * SIMILAR
        )
        return None if found is None else (found[0], found[1] / 100)

    def _candidates(self, text: str) -> list[str]:
        """The texts of about the same length that share most words with a text, rare ones counting more."""
        total = len(self._lengths)
        words = np.fromiter(_words(text), np.int64)
        sizes = self._starts[words + 1] - self._starts[words]
        order = np.argsort(sizes, kind="stable")
        words, sizes = words[order], sizes[order]
        read = np.cumsum(sizes) <= max(POSTINGS, sizes[:1].sum())
        lists = [self._numbers[self._starts[word] : self._starts[word + 1]] for word in words[read]]
        if not total or not lists:
            return []
        weights = [np.full(len(each), math.log(1 + total / len(each))) for each in lists if len(each)]
        shared = np.bincount(np.concatenate(lists), np.concatenate([*weights, []]), total)
        share = SIMILAR / (2 - SIMILAR)  # texts that differ more in length cannot be similar enough
        shared[(self._lengths < share * len(text)) | (self._lengths > len(text) / share)] = 0
        best = np.argpartition(shared, -min(CANDIDATES, total))[-CANDIDATES:]
        chosen = [int(each) for each in best if shared[each]]
        marks = ", ".join("?" * len(chosen))
        return [row[0] for row in self._texts.execute(f"SELECT text FROM texts WHERE number IN ({marks})", chosen)]


def _words(text: str) -> set[int]:
    """The words of a text, as numbers; and the parts of words if there are few of them."""
    words = _WORD.findall(text.casefold())
    parts = {word[:STEM] for word in words}
    for word in words if len(words) <= SHORT else [word for word in words if len(word) > LONG]:
        parts.update(word[at : at + 3] for at in range(max(1, len(word) - 2)))
    return {crc32(part.encode("utf-8", "replace")) % _BUCKETS for part in parts}
