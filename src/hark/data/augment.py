"""Data augmentation: variants of training pairs as people type them, or with other names and numbers.

A model trained only on edited text fails without a capital at the start or a full stop at the end. It takes a name
alone (such as a signature) for the start of a sentence, an unseen name for another word, and a single word for a name.
People also type without umlauts, accents and apostrophes, and with other quotation marks; the target keeps its spelling
then. Variants are added to the original pairs and never replace them.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, assert_never, get_args

import numpy as np

from hark.config import AugmentConfig
from hark.data.lexicon import SingleWords
from hark.data.swaps import Renamer, renumber, shared_name

Variant = Literal["lower", "upper", "unpunctuated", "hasty", "names"]
"""Variants derived from the pair alone."""
Swap = Literal["renamed", "renumbered", "words", "typed", "quoted"]
"""Variants that swap names, numbers, letters or quotation marks, or add words. New ones come last: the draw of each
depends on its place."""
VARIANTS: tuple[Variant | Swap, ...] = (*get_args(Variant), *get_args(Swap))
FINAL = re.compile(r"\s*[.!?…。！？]+$")
"""Final punctuation, and the space that French puts before it."""
_SPELLED_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "œ": "oe", "Œ": "Oe"}
)
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])['’](?=[^\W\d_])")
_QUOTED = re.compile(r'(?<![\w"])(?:"([^"]+)"|“([^”“]+)”|„([^“”„]+)[“”]|«\s?([^»«]+?)\s?»|»([^«»]+)«)(?!\w)')
QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("»", "«"), ("'", "'"), ("‘", "’"), ("‚", "‘"))
"""Pairs of quotation marks, as keyboards, typographers and languages have them."""


@dataclass(frozen=True)
class Augmented:
    """Variants of pairs, and their number by kind."""

    sources: list[str]
    targets: list[str]
    counts: Counter[str]


class Augmenter:
    """Draws pairs at random and generates variants of them; the draw depends only on the seed and the chunk.

    `names` are the replacement names. `words` is the lexicon; its entries are drawn independently of the pairs.
    `reverse` draws other pairs, for the reverse direction of a many-to-many dataset.
    """

    def __init__(
        self,
        config: AugmentConfig,
        seed: int,
        names: Sequence[str] = (),
        words: Mapping[str, str] | None = None,
        reverse: bool = False,
    ) -> None:
        self.config, self.seed, self.names, self.words = config, seed, names, words or {}
        self.stream = [1] if reverse else []

    def __call__(self, chunk: int, sources: Sequence[str], targets: Sequence[str]) -> Augmented:
        augmented = Augmented([], [], Counter())
        for number, variant in enumerate(VARIANTS):
            share = getattr(self.config, variant)
            if not share:
                continue
            rng = np.random.default_rng([self.seed, chunk, number, *self.stream])
            drawn = np.flatnonzero(rng.random(len(sources)) < share)
            change = self.change(variant, rng)
            for i in drawn.tolist():
                if (pair := change(sources[i], targets[i])) is not None:
                    augmented.sources.append(pair[0])
                    augmented.targets.append(pair[1])
                    augmented.counts[variant] += 1
        return augmented

    def change(self, variant: Variant | Swap, rng: np.random.Generator) -> Callable[[str, str], tuple[str, str] | None]:
        match variant:
            case "words":
                draw = SingleWords(self.words, rng)
                return lambda _source, _target: draw()
            case "renamed":
                return Renamer(self.names, rng, (word for pair in self.words.items() for word in pair))
            case "renumbered":
                return partial(renumber, rng=rng)
            case "typed":
                return type_plainly
            case "quoted":
                return partial(requote, rng=rng)
            case _:
                return partial(vary, variant)


def vary(variant: Variant, source: str, target: str) -> tuple[str, str] | None:
    """Return a variant of a pair, or None if it would be unchanged or empty."""
    match variant:
        case "lower":
            varied = source.lower(), target
        case "upper":
            varied = source.upper(), target.upper()
        case "unpunctuated" | "hasty":
            # If one side ends differently (e.g. in a quotation mark), the model would learn to add or drop punctuation.
            if not (FINAL.search(source) and FINAL.search(target)):
                return None
            varied = FINAL.sub("", source), FINAL.sub("", target)
            if variant == "hasty":
                if varied[0] == varied[0].lower():
                    return None
                varied = varied[0].lower(), varied[1]
        case "names":
            name = shared_name(source, target)
            varied = name, name
        case _:
            assert_never(variant)
    return varied if varied[0] != source and all(varied) else None


def type_plainly(source: str, target: str) -> tuple[str, str] | None:
    """Write the source without umlauts, accents, or apostrophes within words; None if it has none."""
    plain = unicodedata.normalize("NFD", _APOSTROPHE.sub("", source).translate(_SPELLED_OUT))
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    return (plain, target) if plain and plain != unicodedata.normalize("NFD", source) else None


def requote(source: str, target: str, rng: np.random.Generator) -> tuple[str, str] | None:
    """Write the quotations of the source between other marks; None if it has none."""
    left, right = QUOTES[rng.integers(len(QUOTES))]
    varied = _QUOTED.sub(lambda match: left + next(filter(None, match.groups())) + right, source)
    return (varied, target) if varied != source else None
