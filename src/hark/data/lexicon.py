"""Words and their translations, learnt from which words stand in the same pairs.

A word alone is what people try first, and training text has hardly any. A model that has learnt to copy names takes it
for one, above all out of German, where every noun has a capital.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hark.data.swaps import WORD

LONGEST = 12
"""Words of a sentence that is counted: in long ones everything stands beside everything."""
SEEN, SURE = 3, 0.3
"""Pairs in which two words stand together, and twice their share of those in which one does (Dice), at the least."""
PHRASE = 3
"""Words that may translate one alone, at most."""
CAPITAL = 0.5
CHUNK = 20_000
"""Pairs whose words are counted at a time."""
END = re.compile(r"[.!?]$")
Item = TypeVar("Item")


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


def find_words(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The words of both sides that belong together: each is the other's likeliest, or all that a pair has."""
    sides = [Numbers(pair[side] for pair in pairs) for side in (0, 1)]
    keys, seen = count_keys(
        np.concatenate([np.add.outer(*ids).ravel() for ids in chunk])
        for chunk in batched(((sides[0](source) << 32, sides[1](target)) for source, target in pairs), CHUNK)
    )
    source, target = keys >> 32, keys & 0xFFFFFFFF
    apart = np.array(sides[0].seen)[source] + np.array(sides[1].seen)[target]
    dice = 2 * seen / apart
    found = (seen >= SEEN) & (dice >= SURE) & likeliest(source, dice) & likeliest(target, dice)
    words = [list(side.numbers) for side in sides]
    known = {words[0][s]: words[1][t] for s, t in zip(source[found], target[found], strict=True)}
    return known | said_alone(pairs, known, *(side.inner for side in sides))


def said_alone(
    pairs: Iterable[tuple[str, str]],
    known: Mapping[str, str],
    inner: Mapping[str, int],
    inner_target: Mapping[str, int],
) -> dict[str, str]:
    """Words that are a sentence, with what is said for them most often: no is Nein, not keine.

    What is known with a capital keeps it: the city of Nice is not nice.
    """
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for source, target in pairs:
        ours, theirs = WORD.findall(source), WORD.findall(target)
        # What has more signs than one at its end is several things, or unfinished.
        if len(ours) == 1 and 0 < len(theirs) <= PHRASE and END.sub("", target.strip()) == " ".join(theirs):
            its_own = known.get(ours[0]) == " ".join(theirs)
            word = ours[0] if its_own else small_if_first(ours[0], inner)
            seen[word][" ".join([small_if_first(theirs[0], inner_target), *theirs[1:]])] += 1
    return {word: commonest(others) for word, others in seen.items()}


def commonest(seen: Mapping[str, int]) -> str:
    """Of those that are as common the shortest."""
    return min(seen, key=lambda each: (-seen[each], each.count(" ")))


class Numbers:
    """The words of one side as numbers, and how many sentences have each."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self.inner = Counter(word for sentence in sentences for word in WORD.findall(sentence)[1:])
        self.numbers: dict[str, int] = {}
        self.seen: list[int] = []

    def __call__(self, sentence: str) -> NDArray[np.int64]:
        """Each word of a sentence once."""
        words = WORD.findall(sentence)
        words[:1] = [small_if_first(word, self.inner) for word in words[:1]]
        ids = sorted({self.numbers.setdefault(word, len(self.numbers)) for word in words})
        self.seen += [0] * (len(self.numbers) - len(self.seen))
        for each in ids:
            self.seen[each] += 1
        return np.array(ids, dtype=np.int64)


def count_keys(chunks: Iterable[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What stands in any chunk, in order, and how often in all; memory is for what differs."""
    parts = [np.unique(chunk, return_counts=True) for chunk in chunks] or [(np.empty(0, np.int64),) * 2]
    keys, places = np.unique(np.concatenate([part for part, _ in parts]), return_inverse=True)
    counts = np.bincount(places, np.concatenate([counts for _, counts in parts]), len(keys))
    return keys, counts.astype(np.int64)


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


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
