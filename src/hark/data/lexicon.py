"""Words and their translations, learnt from which words stand in the same pairs.

A word alone is what people try first, and training text has hardly any. A model that has learnt to copy names takes it
for one, above all out of German, where every noun has a capital.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hark.data.swaps import WORD

LONGEST = 12
"""Words of a sentence that is counted: in long ones everything stands beside everything."""
SEEN, SURE = 3, 0.3
"""Pairs in which two words stand together, and twice their share of those in which one does (Dice), at the least."""
CAPITAL = 0.5


def short_pair(source: str, target: str) -> bool:
    return all(0 < len(WORD.findall(side)) <= LONGEST for side in (source, target))


class SingleWords:
    """Draws words that are to stand alone, each as often as any other: what is rare is what a model does not know.

    Names and numbers are left out, and half of the words in small letters get a capital, as at the beginning of a line.
    """

    def __init__(self, lexicon: Mapping[str, str], rng: np.random.Generator) -> None:
        self.pairs = [(word, other) for word, other in lexicon.items() if word != other]
        self.rng = rng

    def __call__(self) -> tuple[str, str] | None:
        if not self.pairs:
            return None
        word, other = self.pairs[int(self.rng.integers(len(self.pairs)))]
        if word == word.lower() and self.rng.random() < CAPITAL:
            return word[0].upper() + word[1:], other[0].upper() + other[1:]
        return word, other


def find_words(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The words of both sides that belong together: each is the other's likeliest."""
    sources, targets = [list(side) for side in zip(*pairs, strict=True)] or ([], [])
    if not sources:
        return {}
    source_ids, source_words = number(sources)
    target_ids, target_words = number(targets)
    both = zip(source_ids, target_ids, strict=True)
    together = np.concatenate([np.add.outer(ours * len(target_words), theirs).ravel() for ours, theirs in both])
    keys, seen = np.unique(together, return_counts=True)
    source, target = np.divmod(keys, len(target_words))
    apart = np.bincount(np.concatenate(source_ids))[source] + np.bincount(np.concatenate(target_ids))[target]
    dice = 2 * seen / apart
    found = (seen >= SEEN) & (dice >= SURE) & likeliest(source, dice) & likeliest(target, dice)
    return {source_words[s]: target_words[t] for s, t in zip(source[found], target[found], strict=True)}


def number(sentences: Sequence[str]) -> tuple[list[NDArray[np.int64]], list[str]]:
    """The words of each sentence as numbers, each once, and the words."""
    split = [WORD.findall(sentence) for sentence in sentences]
    inner = Counter(word for words in split for word in words[1:])
    numbers: dict[str, int] = {}
    ids = []
    for words in split:
        words[:1] = [small_if_first(word, inner) for word in words[:1]]
        ids.append(np.array(sorted({numbers.setdefault(word, len(numbers)) for word in words}), dtype=np.int64))
    return ids, list(numbers)


def small_if_first(word: str, inner: Mapping[str, int]) -> str:
    """The first word of a sentence as it is written within others."""
    small = word.lower()
    return small if inner.get(small, 0) > inner.get(word, 0) else word


def likeliest(words: NDArray[np.int64], dice: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether no other entry of the same word has more."""
    order = np.lexsort((dice, words))
    last = np.flatnonzero(np.diff(words[order], append=-1))
    found = np.zeros(len(words), dtype=bool)
    found[order[last]] = True
    return found
