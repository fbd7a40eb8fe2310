"""Encodes sentence pairs, and maps their tokens to the words of a gold alignment, even if split differently."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hark.config import CorpusConfig
from hark.data.corpus import read_pairs
from hark.errors import UserError
from hark.facts import LanguagePair
from hark.inspect.attention import InputPair
from hark.text.vocabulary import SPACE, Vocabulary, normalise


class WordMatcher:
    """Computes how a vocabulary's tokens overlap with words, by their bytes."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        ids = range(vocabulary.vocab_size)
        special_V = np.array([vocabulary.is_special(token) for token in ids])
        sizes = (
            1 if vocabulary.byte_of(token) is not None else len(piece.replace(SPACE, "").encode())
            for token, piece in zip(ids, vocabulary.pieces(ids), strict=True)
        )
        self.sizes_V = np.where(special_V, 0, np.fromiter(sizes, np.intp, len(ids)))
        self.spaces_V = (self.sizes_V == 0) & ~special_V

    def shares(self, tokens: Sequence[int], words: Sequence[str]) -> NDArray[np.float32] | None:
        """Return how much of each token (row) is in each word (column), from 0 to 1; special tokens are in no word.

        A space token belongs to the word after it. Returns None if tokens and words are not of the same text.
        """
        sizes = self.sizes_V[list(tokens)]
        token_ends, word_ends = sizes.cumsum(), np.cumsum([len(normalise(word).encode()) for word in words])
        if not len(words) or not len(sizes) or token_ends[-1] != word_ends[-1]:
            return None
        word_starts = np.concatenate([[0], word_ends[:-1]])
        ends = np.minimum(token_ends[:, None], word_ends[None, :])
        overlap = ends - np.maximum((token_ends - sizes)[:, None], word_starts[None, :])
        shares: NDArray[np.float64] = overlap.clip(min=0) / np.maximum(sizes, 1)[:, None]
        for row in np.flatnonzero(self.spaces_V[list(tokens)] & (token_ends < word_ends[-1])):
            shares[row, np.searchsorted(word_ends, token_ends[row], side="right")] = 1.0
        return shares.astype(np.float32)


@dataclass(frozen=True)
class HeadExample:
    """A sentence and its reference translation."""

    line: int
    """Its line in the files, from 0."""
    source_text: str
    target_text: str
    source: tuple[int, ...]
    """The encoder's input, EOS last."""
    target: tuple[int, ...]
    """The decoder's input, the start token first. Step t reads token t and predicts the next one."""
    expected: tuple[int, ...]
    """The tokens that the decoder should predict, EOS last."""

    @property
    def pair(self) -> InputPair:
        return self.source, self.target


@dataclass(frozen=True)
class HeadCorpus:
    """The sentence pairs that a model can process, and the number of all pairs read."""

    examples: tuple[HeadExample, ...]
    lines: int
    """Number of pairs read."""

    @property
    def left_out(self) -> int:
        """Number of pairs with a side that is empty or longer than the model's positions."""
        return self.lines - len(self.examples)


def read_texts(files: tuple[str, str], languages: tuple[str, str], limit: int | None) -> list[tuple[str, str]]:
    """Read the first `limit` pairs of two line-aligned files, or of one .tsv, .jsonl or .tmx file and `-`."""
    corpus = CorpusConfig(files[0], "" if files[1] == "-" else files[1])
    return list(islice(read_pairs(corpus, *languages), limit))


def encode(
    pairs: Sequence[tuple[str, str]],
    source: Vocabulary,
    target: Vocabulary,
    positions: int,
    languages: LanguagePair | None = None,
) -> HeadCorpus:
    """Encode pairs for a model with this many positions; `languages` are needed for models of several pairs."""
    source_language, target_language = languages or (None, None)
    examples = []
    sides = zip(source.encode([each for each, _ in pairs]), target.encode([each for _, each in pairs]), strict=True)
    for line, ((text, other), (ids, other_ids)) in enumerate(zip(pairs, sides, strict=True)):
        written = (*target.prefix(target_language), *other_ids)
        read, expected = (target.special.start, *written), (*written, target.special.end)
        seen = tuple(source.as_source(ids, target_language, source_language))
        if ids and other_ids and max(len(seen), len(read)) <= positions:
            examples.append(HeadExample(line, text, other, seen, read, expected))
    if not examples:
        raise UserError("no usable sentence pairs: all are empty or too long for the model; give other text")
    return HeadCorpus(tuple(examples), len(pairs))
