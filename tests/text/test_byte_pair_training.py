"""Learning a byte-level vocabulary: it loses nothing, and its merges are those of byte-pair encoding."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.text.byte_pair_training import SMALLEST, learn_byte_pairs, learn_merges
from hark.text.byte_pairs import BYTE_CHARACTERS, BytePairs, split_words

TEXT = "the cat sees the dog.\n\n  The dog's cat, der Zwölfte, runs: the cats!\n" * 30


def naive_merges(text: str, count: int) -> list[tuple[str, str]]:
    """Merge the most frequent pair, again and again."""
    words = Counter(tuple(BYTE_CHARACTERS[byte] for byte in word.encode()) for word in split_words(text))
    merges = []
    while len(merges) < count:
        pairs = Counter[tuple[str, str]]()
        for word, times in words.items():
            for pair in pairwise(word):
                pairs[pair] += times
        best = max(pairs.values())
        merges.append(next(pair for pair, times in pairs.items() if times == best))
        merged = BytePairs(b"#version: 0.2\n" + "\n".join(map(" ".join, merges)).encode())
        words = Counter({tuple(merged.merge("".join(word))): times for word, times in words.items()})
    return merges


def coverage(merges: list[tuple[str, str]]) -> int:
    """The tokens of the text with these merges."""
    return len(BytePairs(b"#version: 0.2\n" + "\n".join(map(" ".join, merges)).encode()).encode(TEXT))


@pytest.mark.parametrize("count", [5, 20])
def test_merges_shorten_the_text_as_those_of_the_plain_algorithm(count: int) -> None:
    """Pairs that are as frequent may be merged in another order."""
    learnt = list(learn_merges([TEXT], count))[:count]
    assert learnt[0] == naive_merges(TEXT, 1)[0]
    assert coverage(learnt) == pytest.approx(coverage(naive_merges(TEXT, count)), rel=0.03)


@pytest.mark.parametrize("size", [SMALLEST, SMALLEST + 40])
def test_the_size_is_exact_and_bytes_alone_are_a_vocabulary(size: int) -> None:
    vocabulary = learn_byte_pairs([TEXT], size)
    assert vocabulary.vocab_size == size
    shortest = len(vocabulary.encode_one(TEXT)) / len(TEXT.encode())
    assert shortest == 1 if size == SMALLEST else shortest < 0.6


@given(st.text(max_size=60))
def test_no_character_is_lost(text: str) -> None:
    vocabulary = LEARNT
    ids = vocabulary.encode_one(text)
    pieces = vocabulary.pieces(ids)
    assert not any(map(vocabulary.is_special, ids))
    assert "".join(pieces) == "".join(BYTE_CHARACTERS[byte] for byte in text.encode("utf-8", "replace"))


def test_the_same_text_gives_the_same_vocabulary() -> None:
    assert learn_byte_pairs([TEXT], 300).sha256 == LEARNT.sha256


LEARNT = learn_byte_pairs([TEXT], 300)
