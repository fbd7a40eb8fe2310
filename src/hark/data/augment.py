"""Variants of training pairs as people type them in everyday life: no capitals, capitals, no full stop, a bare name.

A model that has seen only edited text is lost without a capital at the beginning or a full stop at the end, and takes a
name alone (who signs a letter) for the beginning of something. A variant is written besides its pair, never instead.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal, assert_never, get_args

import numpy as np

from hark.config import AugmentConfig

Variant = Literal["lower", "upper", "unpunctuated", "hasty", "names"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
FINAL = re.compile(r"\s*[.!?…。！？]+$")
"""What ends a sentence, and the space that French has before it."""
WORD = re.compile(r"\w(?:[\w.'’&-]*\w)?")


@dataclass(frozen=True)
class Augmented:
    """The variants of some pairs, and how many there are of each kind."""

    sources: list[str]
    targets: list[str]
    counts: Counter[str]


class Augmenter:
    """Draws pairs, and writes variants of them; what is drawn depends on the seed and the chunk alone."""

    def __init__(self, config: AugmentConfig, seed: int) -> None:
        self.config, self.seed = config, seed

    def __call__(self, chunk: int, sources: Sequence[str], targets: Sequence[str]) -> Augmented:
        made = Augmented([], [], Counter())
        for number, variant in enumerate(VARIANTS):
            share = getattr(self.config, variant)
            if not share:
                continue
            drawn = np.random.default_rng([self.seed, chunk, number]).random(len(sources)) < share
            for i in np.flatnonzero(drawn).tolist():
                pair = vary(variant, sources[i], targets[i])
                if pair is not None:
                    made.sources.append(pair[0])
                    made.targets.append(pair[1])
                    made.counts[variant] += 1
        return made


def vary(variant: Variant, source: str, target: str) -> tuple[str, str] | None:
    """A pair in another form; none where it has that form already, or nothing would be left."""
    match variant:
        case "lower":
            made = source.lower(), target
        case "upper":
            made = source.upper(), target.upper()
        case "unpunctuated" | "hasty":
            # Where one side ends otherwise, such as with a quotation mark, the model would learn to add or drop signs.
            if not (FINAL.search(source) and FINAL.search(target)):
                return None
            made = FINAL.sub("", source), FINAL.sub("", target)
            if variant == "hasty":
                if made[0] == made[0].lower():
                    return None
                made = made[0].lower(), made[1]
        case "names":
            name = shared_name(source, target)
            made = name, name
        case _:
            assert_never(variant)
    return made if made[0] != source and all(made) else None


def shared_name(source: str, target: str) -> str:
    """The longest run of words with capitals that both sides have, mostly a name; empty if there is none."""
    ours, theirs = WORD.findall(source), WORD.findall(target)
    # A word without a capital becomes its place, counted so that none of one side is equal to any of the other.
    matcher = SequenceMatcher(
        None,
        [word if word[0].isupper() else at for at, word in enumerate(ours)],
        [word if word[0].isupper() else -1 - at for at, word in enumerate(theirs)],
        autojunk=False,
    )
    run = matcher.find_longest_match()
    # One word at the beginning may have its capital from there ("Was" is a word of English and another of German).
    if run.size == 1 and 0 in (run.a, run.b):
        return ""
    return " ".join(ours[run.a : run.a + run.size])
