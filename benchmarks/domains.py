"""Sentences of many domains, drawn from parallel text by a fixed seed, to see how a model does outside its own text.

A folder of the data has files `NAME.en-de.tsv.xz`, English first. Each draw takes as many pairs from every file, and
always the same ones, whatever the order of a file's lines. No sentence is in two draws, or twice in one: thresholds are
tuned on `dev` and reported on `test`. A model that is trained on this text must not have read them.
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
"""Candidates for each pair that is wanted: many sentences are in several files, or differ in a number alone."""


@dataclass(frozen=True)
class Pair:
    domain: str
    english: str
    german: str

    def side(self, language: str) -> str:
        return {"en": self.english, "de": self.german}[language]


def draw(data: Path, which: Draw, sentences: int, files: Sequence[str] = FILES) -> list[Pair]:
    """As many pairs from each file, this number in all."""
    each = sentences // len(files)
    seen: set[str] = set()
    found = []
    for file in files:
        pairs = draw_from(data, file, each * len(DRAWS), seen)
        found += pairs[DRAWS.index(which) :: len(DRAWS)]
    return found


def draw_from(data: Path, file: str, wanted: int, seen: set[str]) -> list[Pair]:
    """The first pairs by their hashes, except what was seen before."""
    candidates = heapq.nsmallest(SPARE * wanted, read_pairs(data / f"{file}.en-de.tsv.xz"), key=rank)
    found: list[Pair] = []
    for english, german in candidates:
        keys = {shape(english), shape(german)}
        if len(found) < wanted and not keys & seen:
            seen |= keys
            found.append(Pair(file.rpartition("/")[2], english, german))
    return found


def read_pairs(file: Path) -> Iterator[tuple[str, str]]:
    """Pairs of a suitable length whose sides differ; equal ones are names, or were not translated."""
    with lzma.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            english, german, *_ = line.rstrip("\n").split("\t")
            fits = all(SHORTEST <= len(side.split()) <= LONGEST for side in (english, german))
            if fits and bare(english) != bare(german):
                yield english, german


def rank(pair: tuple[str, str]) -> bytes:
    """A pair's place in the draw."""
    return hashlib.blake2b("\t".join((SEED, *pair)).encode(), digest_size=16).digest()


def shape(text: str) -> str:
    """What two texts share that differ in case, punctuation and numbers only."""
    return re.sub(r"\d+", "0", bare(text))
