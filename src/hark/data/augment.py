"""Variants of training pairs as people type them: no capitals, capitals, no full stop, other names and numbers.

A model that has seen only edited text is lost without a capital at the beginning or a full stop at the end, takes a
name alone (who signs a letter) for the beginning of something, a name that it has not read for another word, and a word
alone for a name. A variant is written besides its pair, never instead.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, assert_never, get_args

import numpy as np

from hark.config import AugmentConfig
from hark.data.lexicon import SingleWords
from hark.data.swaps import Renamer, renumbered, shared_name

Variant = Literal["lower", "upper", "unpunctuated", "hasty", "names"]
"""Variants that need no more than the pair itself."""
Swap = Literal["renamed", "renumbered", "words"]
"""Those that need chance, and names or words of other pairs."""
VARIANTS: tuple[Variant | Swap, ...] = (*get_args(Variant), *get_args(Swap))
FINAL = re.compile(r"\s*[.!?…。！？]+$")
"""What ends a sentence, and the space that French has before it."""


@dataclass(frozen=True)
class Augmented:
    """The variants of some pairs, and how many there are of each kind."""

    sources: list[str]
    targets: list[str]
    counts: Counter[str]


class Augmenter:
    """Draws pairs, and writes variants of them; what is drawn depends on the seed and the chunk alone.

    `names` are those that may take the place of others, `words` the lexicon, whose words are drawn whatever the pair.
    """

    def __init__(
        self, config: AugmentConfig, seed: int, names: Sequence[str] = (), words: Mapping[str, str] | None = None
    ) -> None:
        self.config, self.seed, self.names, self.words = config, seed, names, words or {}

    def __call__(self, chunk: int, sources: Sequence[str], targets: Sequence[str]) -> Augmented:
        made = Augmented([], [], Counter())
        for number, variant in enumerate(VARIANTS):
            share = getattr(self.config, variant)
            if not share:
                continue
            rng = np.random.default_rng([self.seed, chunk, number])
            drawn = rng.random(len(sources)) < share
            change = self.change(variant, rng)
            for i in np.flatnonzero(drawn).tolist():
                pair = change(sources[i], targets[i])
                if pair is not None:
                    made.sources.append(pair[0])
                    made.targets.append(pair[1])
                    made.counts[variant] += 1
        return made

    def change(self, variant: Variant | Swap, rng: np.random.Generator) -> Callable[[str, str], tuple[str, str] | None]:
        match variant:
            case "words":
                draw = SingleWords(self.words, rng)
                return lambda _source, _target: draw()
            case "renamed":
                return Renamer(self.names, rng, (word for pair in self.words.items() for word in pair))
            case "renumbered":
                return partial(renumbered, rng=rng)
            case _:
                return partial(vary, variant)


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
