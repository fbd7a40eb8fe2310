"""Sentences from many domains, drawn from parallel text with a fixed seed, to test a model outside its training text.

The data folder has files `NAME.en-de.tsv.xz`, English first. Each draw takes the same number of pairs from every file,
and always the same ones, whatever the order of lines. No sentence is in both draws, or twice in one: thresholds are
tuned on `dev` and reported on `test`. These sentences must not be in the training text of a model.
"""

import hashlib
import heapq
import lzma
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.lines import bare

Draw = Literal["dev", "test"]
DRAWS: tuple[Draw, ...] = ("dev", "test")
FILES = (
    "debian/catalogues", "debian/manuals", "debian/descriptions", "debian/dictionary-examples",
    "github/docs", "github/strings", "github/games", "github/prose", "github/medical", "github/books",
)  # fmt: skip
SEED = "hark trust 1"
SHORTEST, LONGEST = 3, 60
"""Words on either side."""
SPARE = 10
"""Candidates per pair: many sentences are in several files, or differ only in a number."""


@dataclass(frozen=True)
class Pair:
    domain: str
    english: str
    german: str

    def side(self, language: str) -> str:
        return {"en": self.english, "de": self.german}[language]


def draw(data: Path, which: Draw, sentences: int, files: Sequence[str] = FILES) -> list[Pair]:
    """Draw the same number of pairs from each file, `sentences` in total."""
    each = sentences // len(files)
    seen: set[str] = set()
    drawn = []
    for file in files:
        pairs = draw_from(data, file, each * len(DRAWS), seen)
        drawn += pairs[DRAWS.index(which) :: len(DRAWS)]
    return drawn


def draw_from(data: Path, file: str, count: int, seen: set[str]) -> list[Pair]:
    """Draw the first pairs in the order of their hashes, except those seen before."""
    candidates = heapq.nsmallest(SPARE * count, read_pairs(data / f"{file}.en-de.tsv.xz"), key=rank)
    drawn: list[Pair] = []
    for english, german in candidates:
        keys = {shape(english), shape(german)}
        if len(drawn) < count and not keys & seen:
            seen |= keys
            drawn.append(Pair(file.rpartition("/")[2], english, german))
    return drawn


def read_pairs(file: Path) -> Iterator[tuple[str, str]]:
    """Read pairs of a suitable length whose sides differ; equal ones are names or untranslated."""
    with lzma.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            english, german, *_ = line.rstrip("\n").split("\t")
            fits = all(SHORTEST <= len(side.split()) <= LONGEST for side in (english, german))
            if fits and bare(english) != bare(german):
                yield english, german


def rank(pair: tuple[str, str]) -> bytes:
    """The sort key of a pair in the draw."""
    return hashlib.blake2b("\t".join((SEED, *pair)).encode(), digest_size=16).digest()


def shape(text: str) -> str:
    """Normalise a text so that those that differ only in case, punctuation and numbers are equal."""
    return re.sub(r"\d+", "0", bare(text))
