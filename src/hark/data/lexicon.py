"""Bilingual lexicon: single words and their translations, learnt from co-occurrence in pairs.

People often try a single word first, but training text has hardly any. A model that has learnt to copy names takes it
for a name, especially from German, where every noun is capitalised.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hark.data.swaps import WORD

MAX_SENTENCE_WORDS = 12
"""In longer sentences, too many words co-occur."""
MIN_PAIRS, MIN_DICE = 3, 0.3
"""Of two words that are taken for translations: the pairs in which they co-occur, and their Dice coefficient."""
MAX_TRANSLATION_WORDS = 3
CAPITALISED = 0.5
"""Share of lowercase words that are capitalised when drawn."""
PAIRS_AT_A_TIME = 20_000
END = re.compile(r"[.!?]$")


def short_pairs(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs whose sentences are short enough to learn from."""
    return [pair for pair in pairs if all(0 < len(WORD.findall(side)) <= MAX_SENTENCE_WORDS for side in pair)]


class SingleWords:
    """Draws single words with their translations, uniformly: a model knows the rare ones least.

    Skips names and numbers. Half of the lowercase words are capitalised, as at the start of a line.
    """

    def __init__(self, lexicon: Mapping[str, str], rng: np.random.Generator) -> None:
        self.pairs = [(word, other) for word, other in lexicon.items() if word != other]
        self.rng = rng

    def __call__(self) -> tuple[str, str] | None:
        if not self.pairs:
            return None
        word, other = self.pairs[int(self.rng.integers(len(self.pairs)))]
        if word == word.lower() and self.rng.random() < CAPITALISED:
            return word[0].upper() + word[1:], other[0].upper() + other[1:]
        return word, other


def find_words(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return word translations: words that are each other's best match, or that form a whole pair."""
    sides = [WordIndex(pair[side] for pair in pairs) for side in (0, 1)]
    ids = ((sides[0](source) << 32, sides[1](target)) for source, target in pairs)
    chunks = iter(lambda: list(islice(ids, PAIRS_AT_A_TIME)), [])
    keys, seen = count_keys(np.concatenate([np.add.outer(*pair).ravel() for pair in chunk]) for chunk in chunks)
    source, target = keys >> 32, keys & 0xFFFFFFFF
    occurrences = np.array(sides[0].seen)[source] + np.array(sides[1].seen)[target]
    dice = 2 * seen / occurrences
    matches = (seen >= MIN_PAIRS) & (dice >= MIN_DICE) & is_best_match(source, dice) & is_best_match(target, dice)
    words = [list(side.ids) for side in sides]
    known = {words[0][s]: words[1][t] for s, t in zip(source[matches], target[matches], strict=True)}
    return known | find_one_word_sentences(pairs, known, *(side.inner for side in sides))


def find_one_word_sentences(
    pairs: Iterable[tuple[str, str]],
    known: Mapping[str, str],
    inner: Mapping[str, int],
    inner_target: Mapping[str, int],
) -> dict[str, str]:
    """Return words that form a whole sentence, with their most frequent translation: "no" is "Nein", not "keine".

    Words known with a capital keep it: the city of Nice is not "nice".
    """
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for source, target in pairs:
        words, translation = WORD.findall(source), WORD.findall(target)
        # More than one punctuation mark means several phrases, or an unfinished one.
        is_phrase = 0 < len(translation) <= MAX_TRANSLATION_WORDS
        if len(words) == 1 and is_phrase and END.sub("", target.strip()) == " ".join(translation):
            is_known = known.get(words[0]) == " ".join(translation)
            word = words[0] if is_known else restore_case(words[0], inner)
            seen[word][" ".join([restore_case(translation[0], inner_target), *translation[1:]])] += 1
    return {word: most_frequent(others) for word, others in seen.items()}


def most_frequent(seen: Mapping[str, int]) -> str:
    """Return the most frequent translation; of several, the one with the fewest words."""
    return min(seen, key=lambda phrase: (-seen[phrase], phrase.count(" ")))


class WordIndex:
    """Assigns ids to the words of one side, and counts the sentences with each word."""

    def __init__(self, sentences: Iterable[str]) -> None:
        self.inner = Counter(word for sentence in sentences for word in WORD.findall(sentence)[1:])
        self.ids: dict[str, int] = {}
        self.seen: list[int] = []

    def __call__(self, sentence: str) -> NDArray[np.int64]:
        """Return the sorted ids of the distinct words of a sentence."""
        words = WORD.findall(sentence)
        words[:1] = [restore_case(word, self.inner) for word in words[:1]]
        ids = sorted({self.ids.setdefault(word, len(self.ids)) for word in words})
        self.seen += [0] * (len(self.ids) - len(self.seen))
        for word_id in ids:
            self.seen[word_id] += 1
        return np.array(ids, dtype=np.int64)


def count_keys(chunks: Iterable[NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys of all chunks, sorted, and their counts; memory grows only with distinct keys."""
    parts = [np.unique(chunk, return_counts=True) for chunk in chunks] or [(np.empty(0, np.int64),) * 2]
    keys, places = np.unique(np.concatenate([part for part, _ in parts]), return_inverse=True)
    counts = np.bincount(places, np.concatenate([counts for _, counts in parts]), len(keys))
    return keys, counts.astype(np.int64)


def restore_case(word: str, inner: Mapping[str, int]) -> str:
    """Return the first word of a sentence in the case it has inside sentences."""
    small = word.lower()
    return small if inner.get(small, 0) > inner.get(word, 0) else word


def is_best_match(words: NDArray[np.int64], dice: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each entry has the highest score among those of the same word."""
    order = np.lexsort((dice, words))
    last = np.flatnonzero(np.diff(words[order], append=-1))
    best = np.zeros(len(words), dtype=bool)
    best[order[last]] = True
    return best
