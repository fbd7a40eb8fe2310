"""Documents whose alignment is known: pairs of consecutive sentences, with some joined, split, left out or inserted."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hark.documents.alignment import Bead, TextSentence

_BREAK = re.compile(r"(?<=[,;:]) (?=\S)")
Gold = list[tuple[range, range]]


@dataclass(frozen=True)
class Noise:
    """How documents differ: shares of pairs that are changed on one side."""

    name: str
    joined: float
    split: float
    dropped: float
    inserted: float
    paragraphs: bool


CONDITIONS = (
    Noise("clean", 0.04, 0.04, 0.01, 0.0, True),
    Noise("edited", 0.1, 0.1, 0.04, 0.02, True),
    Noise("edited, paragraphs unknown", 0.1, 0.1, 0.04, 0.02, False),
    Noise("much missing", 0.1, 0.1, 0.15, 0.1, True),
)


def make_document(
    pairs: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]], noise: Noise, chance: random.Random
) -> tuple[list[TextSentence], list[TextSentence], Gold]:
    """Make two versions of a document, and the pairs in them, as ranges of sentences of both."""
    texts: tuple[list[str], list[str]] = [], []
    ends: tuple[set[int], set[int]] = set(), set()
    gold: Gold = []

    def add(units: tuple[list[str], list[str]]) -> None:
        spans = [range(len(texts[side]), len(texts[side]) + len(units[side])) for side in (0, 1)]
        for side in (0, 1):
            texts[side].extend(units[side])
        if all(spans):
            gold.append((spans[0], spans[1]))

    place = 0
    until = chance.randint(2, 6)
    while place < len(pairs):
        units: tuple[list[str], list[str]] = [pairs[place][0]], [pairs[place][1]]
        side = chance.randrange(2)
        what = chance.random()
        place += 1
        if what < noise.joined and place < len(pairs) and until > 1:
            units = [pairs[place - 1][0], pairs[place][0]], [pairs[place - 1][1], pairs[place][1]]
            units[side][:] = [" ".join(units[side])]
            place += 1
            until -= 1
        elif what < noise.joined + noise.split:
            units[side][:] = split_once(units[side][0], chance)
        elif what < noise.joined + noise.split + noise.dropped:
            units[side].clear()
        elif what < noise.joined + noise.split + noise.dropped + noise.inserted:
            extra: tuple[list[str], list[str]] = [], []
            extra[side].append(chance.choice(others)[side])
            add(extra)
        add(units)
        until -= 1
        if until <= 0 and noise.paragraphs:
            for side in (0, 1):
                ends[side].add(len(texts[side]) - 1)
            until = chance.randint(2, 6)
    made = [[TextSentence(text, at in ends[side]) for at, text in enumerate(texts[side])] for side in (0, 1)]
    return made[0], made[1], gold


def split_once(text: str, chance: random.Random) -> list[str]:
    """Cut a sentence after a comma or the like, if it has one."""
    breaks = [match.start() for match in _BREAK.finditer(text)]
    if not breaks:
        return [text]
    cut = chance.choice(breaks)
    return [text[:cut], text[cut + 1 :]]


def count(gold: Gold, found: Sequence[Bead]) -> tuple[int, int, int]:
    """Pairs that are right, found and known. A pair is right if it has exactly the sentences of a known one."""
    known = {(tuple(one), tuple(other)) for one, other in gold}
    beads = {(tuple(each.source), tuple(each.target)) for each in found if each.source and each.target}
    return len(known & beads), len(beads), len(known)
