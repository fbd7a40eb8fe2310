"""Maps tokens to the words of a gold alignment, even if they split spaces and punctuation differently."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hark.text.normalise import normalise
from hark.text.vocabulary import SPACE, Vocabulary


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
