"""Sentences from many domains, drawn from held-out text with a fixed seed.

The data folder is that of `tools.cut_domains`: NAME.dev.en, NAME.dev.de, NAME.test.en and so on, none of which the
shipped models were trained on. Each draw takes the same number of pairs from every domain, and always the same ones,
whatever the order of lines: thresholds are tuned on `dev` and reported on `test`.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.lines import bare

Draw = Literal["dev", "test"]
DRAWS: tuple[Draw, ...] = ("dev", "test")
DOMAINS = (
    "catalogues", "manuals", "descriptions", "examples", "docs", "strings", "games", "prose", "medical", "books",
)  # fmt: skip
SEED = "hark trust 2"
SHORTEST, LONGEST = 3, 60
"""Words on either side."""


@dataclass(frozen=True)
class Pair:
    domain: str
    english: str
    german: str

    def side(self, language: str) -> str:
        return {"en": self.english, "de": self.german}[language]


def draw(data: Path, which: Draw, sentences: int, domains: Sequence[str] = DOMAINS) -> list[Pair]:
    """Draw the same number of pairs from each domain, `sentences` in total."""
    seen: set[str] = set()
    return [pair for domain in domains for pair in draw_from(data, domain, which, sentences // len(domains), seen)]


def draw_from(data: Path, domain: str, which: Draw, count: int, seen: set[str]) -> list[Pair]:
    """Draw the first pairs in the order of their hashes, except those seen before."""
    drawn: list[Pair] = []
    for english, german in sorted(read_pairs(data / f"{domain}.{which}"), key=rank):
        keys = {shape(english), shape(german)}
        if len(drawn) < count and not keys & seen:
            seen |= keys
            drawn.append(Pair(domain, english, german))
    return drawn


def read_pairs(stem: Path) -> Iterator[tuple[str, str]]:
    """Read pairs of a suitable length whose sides differ; equal ones are names or untranslated."""
    sides = [Path(f"{stem}.{language}").read_text(encoding="utf-8").split("\n")[:-1] for language in ("en", "de")]
    for english, german in zip(*sides, strict=True):
        fits = all(SHORTEST <= len(side.split()) <= LONGEST for side in (english, german))
        if fits and bare(english) != bare(german):
            yield english, german


def rank(pair: tuple[str, str]) -> bytes:
    """The sort key of a pair in the draw."""
    return hashlib.blake2b("\t".join((SEED, *pair)).encode(), digest_size=16).digest()


def shape(text: str) -> str:
    """Normalise a text so that those that differ only in case, punctuation and numbers are equal."""
    return re.sub(r"\d+", "0", bare(text))
