"""Counts of symbols such as `#` in a dataset's source text: a model can neither translate nor copy rare ones."""

from collections import Counter

import numpy as np

from hark.data.dataset import Dataset
from hark.facts import SIGNS
from hark.text.vocabulary import SPACE


def count_signs(dataset: Dataset) -> tuple[int, dict[str, int]]:
    """Return the number of source characters in the training text, and the count of each symbol in `SIGNS`.

    Computed from token counts, without reading the text.
    """
    vocabulary = dataset.tokenizer("source")
    tokens_V = np.zeros(vocabulary.vocab_size, np.int64)
    for shard in dataset.shards("train"):
        tokens_V += dataset.store(shard).count("source", vocabulary.vocab_size)
    characters, counts = 0, Counter[str]()
    used = [int(token) for token in np.flatnonzero(tokens_V) if not vocabulary.is_special(int(token))]
    for token, piece in zip(used, vocabulary.pieces(used), strict=True):
        byte = vocabulary.byte_of(token)
        text = piece.replace(SPACE, " ") if byte is None else chr(byte)
        characters += len(text) * int(tokens_V[token])
        for sign in set(text) & set(SIGNS):
            counts[sign] += text.count(sign) * int(tokens_V[token])
    return characters, {sign: counts[sign] for sign in SIGNS}
