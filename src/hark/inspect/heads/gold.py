"""Gold word alignments: reading them, and the alignment error rate."""

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
    """The links of one sentence pair, between target words (rows) and source words (columns)."""

    sure_TS: NDArray[np.bool_]
    possible_TS: NDArray[np.bool_]
    """Includes the sure links."""


def read_gold(path: Path, words: Sequence[tuple[Sequence[str], Sequence[str]]], reversed_: bool = False) -> list[Gold]:
    """Read the links of sentence pairs, one line each: `3-4` is sure and `3p4` (or `3?4`) possible.

    Links are source-target, or target-source with `reversed_`. Words count from 1, or from 0 if the file contains a 0.
    """
    with ByteStream(path) as stream:
        lines = list(read_lines(stream))
    if len(lines) < len(words):
        raise UserError(f"{path}: {len(lines)} lines for {len(words)} sentence pairs; give one line per pair")
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
            raise UserError(f"{path}:{number}: {word!r} is not a link; use the format 1-1 2p3")
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
            remedy = (
                "if links are source-target, remove --gold-reversed"
                if reversed_
                else "if links are target-source, add --gold-reversed"
            )
            raise UserError(
                f"{where}: link {one}{kind}{other} is out of range: the pair has {len(source)} source and "
                f"{len(target)} target words; {remedy}"
            )
        possible_TS[t, s] = True
        sure_TS[t, s] |= kind == "-"
    return Gold(sure_TS, possible_TS)


def error_rate(sure_hits: float, possible_hits: float, links: float, sure: float) -> float:
    """The alignment error rate (Och and Ney, 2003) of links A: 1 - (|A & S| + |A & P|) / (|A| + |S|)."""
    return 1.0 - (sure_hits + possible_hits) / (links + sure) if links + sure else 0.0


def detokenise(words: Sequence[str]) -> str:
    """Detokenise text approximately: attach punctuation to the words that it belongs to.

    Used if only the tokenised text is available, so that the model's input resembles its training data. No character is
    changed.
    """
    text, glued, quoted = "", True, False
    for word in words:
        closes = word in CLOSING or (word in QUOTES and quoted) or CLITIC.fullmatch(word)
        text += word if glued or closes else f" {word}"
        glued = word in OPENING or (word in QUOTES and not quoted)
        quoted ^= word in QUOTES
    return text
