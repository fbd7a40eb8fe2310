"""Alignments by people: which word of a translation stands for which word of its source, and how far ours is off."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hark.data.compression import ByteStream
from hark.data.corpus import read_lines
from hark.errors import UserError

LINK = re.compile(r"(\d+)([-p?])(\d+)")
CLOSING = frozenset(".,;:!?)]}»%…")
OPENING = frozenset("([{«„")
QUOTES = frozenset({'"', "'"})
CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m|t)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Gold:
    """The links of one pair: which target word (row) and source word (column) belong together."""

    sure_TS: NDArray[np.bool_]
    possible_TS: NDArray[np.bool_]
    """The sure ones among them."""


def read_gold(path: Path, words: Sequence[tuple[Sequence[str], Sequence[str]]], reversed_: bool = False) -> list[Gold]:
    """Links of pairs of given words, line by line: `3-4` is sure and `3p4` (or `3?4`) possible.

    They are written source-target; `reversed_`, target-source. Words count from 1, or from 0 where the file has a 0.
    """
    with ByteStream(path) as stream:
        lines = list(read_lines(stream))
    if len(lines) < len(words):
        raise UserError(f"{path}: has {len(lines)} lines for {len(words)} pairs; they must match line by line")
    links = [read_links(line, path, number) for number, line in enumerate(lines, start=1)]
    first = 0 if any(0 in (one, other) for line in links for one, _, other in line) else 1
    return [
        make_gold(line, source, target, first, reversed_, f"{path}:{number}")
        for number, (line, (source, target)) in enumerate(zip(links, words, strict=False), start=1)
    ]


def read_links(line: str, path: Path, number: int) -> list[tuple[int, str, int]]:
    found = []
    for word in line.split():
        match = LINK.fullmatch(word)
        if match is None:
            raise UserError(f"{path}:{number}: {word!r} is no link; a line is of the form 1-1 2p3")
        found.append((int(match[1]), match[2], int(match[3])))
    return found


def make_gold(
    links: Sequence[tuple[int, str, int]],
    source: Sequence[str],
    target: Sequence[str],
    first: int,
    reversed_: bool,
    where: str,
) -> Gold:
    sure_TS, possible_TS = (np.zeros((len(target), len(source)), bool) for _ in range(2))
    for one, kind, other in links:
        s, t = (other - first, one - first) if reversed_ else (one - first, other - first)
        if s >= len(source) or t >= len(target):
            way = "leave --gold-reversed out?" if reversed_ else "are its links target-source? Then add --gold-reversed"
            raise UserError(
                f"{where}: the link {one}{kind}{other} leads out of the pair, which has {len(source)} source and "
                f"{len(target)} target words; {way}"
            )
        possible_TS[t, s] = True
        sure_TS[t, s] |= kind == "-"
    return Gold(sure_TS, possible_TS)


def error_rate(sure_hits: float, possible_hits: float, links: float, sure: float) -> float:
    """The alignment error rate (Och and Ney, 2003) of links A: 1 - (|A & S| + |A & P|) / (|A| + |S|)."""
    return 1.0 - (sure_hits + possible_hits) / (links + sure) if links + sure else 0.0


def detokenise(words: Sequence[str]) -> str:
    """Tokenised text as people write it, roughly: signs close up with the words that they belong to.

    For text of which only the words are known, so that a model sees what it was trained on. No character is changed.
    """
    text, glued, quoted = "", True, False
    for word in words:
        closes = word in CLOSING or (word in QUOTES and quoted) or CLITIC.fullmatch(word)
        text += word if glued or closes else f" {word}"
        glued = word in OPENING or (word in QUOTES and not quoted)
        quoted ^= word in QUOTES
    return text
