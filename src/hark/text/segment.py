"""Bulk encoding of text to token ids, word by word with a cache, optionally with BPE-dropout.

BPE-dropout (Provilkov et al., 2020) skips merges at random, so that a model sees several segmentations of the same
text. This is a separate implementation because sentencepiece's is not reproducible: since 0.2.2 its generator mixes a
per-process salt into every seed. Here the segmentation of a word depends only on the seed, the word and a number drawn
for its position.
"""

import random
import struct
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha512
from itertools import chain, count, pairwise

from hark.text.tokenizer import Tokenizer
from hark.text.vocabulary import SPACE, SegmentationCache, Vocabulary, normalise

CHOICES = 16
"""Number of segmentations per word to draw from with dropout: enough variety, and few enough to cache."""
CHOOSE = bytes(byte % CHOICES for byte in range(256))
MAX_WORD_CHARS = 64
"""Dropout splits longer words (text without spaces): segmentation time is quadratic in word length."""
NEVER = 1 << 62
"""The rank of a pair that is not a piece."""


class Segmenter:
    """Encodes like its vocabulary, optionally with BPE-dropout, which requires one of hark's own."""

    def __init__(self, vocabulary: Vocabulary, dropout: float = 0.0, seed: int = 0) -> None:
        self.vocabulary, self.dropout, self.seed = vocabulary, 0.0, seed
        self._ids: dict[str, int] = {}
        self._markers: Mapping[str, int] = {}
        self._first_byte = 0
        if dropout and isinstance(vocabulary, Tokenizer) and not vocabulary.symbols:  # symbols are never split
            # Merges are learnt in id order, so the id of a piece is also the rank of the merge that creates it.
            learnt, self._markers = vocabulary.learnt, vocabulary.markers
            self._ids = dict(zip(vocabulary.pieces(learnt), learnt, strict=True))
            self.dropout, self._first_byte = dropout, vocabulary.first_byte
        self._choices = SegmentationCache(self._segment)

    def encode(self, texts: Sequence[str], stream: str = "") -> list[list[int]]:
        """Encode texts; `stream` names the random stream that dropout draws from in this call."""
        if self.dropout:
            draw = random.Random(f"{self.seed} {stream}").randbytes
            sentences = (normalise(text).split() for text in texts)
            choices = (zip(words, draw(len(words)).translate(CHOOSE), strict=True) for words in sentences)
            return [list(chain.from_iterable(map(self._choices.__getitem__, each))) for each in choices]
        return [self.vocabulary.encode_one(text) for text in texts]

    def _segment(self, word_and_choice: tuple[str, int]) -> tuple[int, ...]:
        """Return one of the segmentations of a word, with merges dropped."""
        word, choice = word_and_choice
        if (marker := self._markers.get(word)) is not None:
            return (marker,)
        drops = self._draw(f"{self.seed} {choice} {word}")
        marked = SPACE + word
        parts = (marked[start : start + MAX_WORD_CHARS] for start in range(0, len(marked), MAX_WORD_CHARS))
        return tuple(each for part in parts for piece in self._merge(part, drops) for each in self._spell(piece))

    def _draw(self, key: str) -> Iterator[bool]:
        """Yield whether to drop each merge. A hash takes a tenth of the time of seeding a generator for each word."""
        limit = round(self.dropout * (1 << 16))
        for block in count():
            for number in struct.unpack("<32H", sha512(f"{block} {key}".encode()).digest()):
                yield number < limit

    def _merge(self, text: str, drops: Iterator[bool]) -> list[str]:
        """Repeatedly merge the best-ranked pair that is not dropped, until none is left."""
        rank = self._ids.get
        pieces = list(text)
        ranks = [rank(one + other, NEVER) for one, other in pairwise(text)]
        while True:
            candidates = ranks
            while (best := min(candidates, default=NEVER)) != NEVER and next(drops):
                candidates = list(candidates)
                candidates[candidates.index(best)] = NEVER  # for this step only
            if best == NEVER:
                return pieces
            at = candidates.index(best)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
            del ranks[at]
            if at:
                ranks[at - 1] = rank(pieces[at - 1] + pieces[at], NEVER)
            if at < len(ranks):
                ranks[at] = rank(pieces[at] + pieces[at + 1], NEVER)

    def _spell(self, piece: str) -> list[int]:
        """Return the id of a piece, or the byte ids of a character not in the vocabulary."""
        known = self._ids.get(piece)
        return [known] if known is not None else [self._first_byte + byte for byte in piece.encode()]
