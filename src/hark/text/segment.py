"""Text to subword ids in bulk: a word at a time, remembering words, and with BPE-dropout where that is asked for.

BPE-dropout (Provilkov et al., 2020) leaves out merges at random, so that a model sees other segmentations of the same
text. It is our own, because sentencepiece's cannot be repeated: since 0.2.2 its generator mixes a salt of the process
into every seed. Here a word's segmentation depends on the seed, the word and a number drawn for its place alone.
"""

import random
import struct
from collections.abc import Iterator, Sequence
from hashlib import sha512
from itertools import chain, count, pairwise

from hark.text.memory import Memory
from hark.text.normalise import normalise
from hark.text.tokenizer import Tokenizer
from hark.text.vocabulary import SPACE

CHOICES = 16
"""With dropout each word has this many segmentations to draw from: some variety, and few enough to remember."""
CHOOSE = bytes(byte % CHOICES for byte in range(256))
LONGEST = 64
"""Dropout cuts longer words (text without spaces): the time to segment one grows with the square of its length."""
NEVER = 1 << 62
"""The rank of a pair that makes no piece."""


class Segmenter:
    """Encodes as its tokenizer does, several times as fast; or leaves out merges with some probability."""

    def __init__(self, tokenizer: Tokenizer, dropout: float = 0.0, seed: int = 0) -> None:
        self.tokenizer, self.dropout, self.seed = tokenizer, dropout, seed
        # Merges are learnt in the order of ids, so a piece's id is also the rank of the merge that makes it.
        learnt = tokenizer.learnt if dropout else range(0)
        self._ids = dict(zip(tokenizer.pieces(learnt), learnt, strict=True))
        self._choices = Memory(self._segment)

    def encode(self, texts: Sequence[str], stream: str = "") -> list[list[int]]:
        """Ids of each text; `stream` names the row of random numbers that dropout draws from in this call."""
        if self.dropout:
            draw = random.Random(f"{self.seed} {stream}").randbytes
            sentences = (normalise(text).split() for text in texts)
            choices = (zip(words, draw(len(words)).translate(CHOOSE), strict=True) for words in sentences)
            return [list(chain.from_iterable(map(self._choices.__getitem__, each))) for each in choices]
        return [self.tokenizer.encode_one(text) for text in texts]

    def _segment(self, word_and_choice: tuple[str, int]) -> tuple[int, ...]:
        """One of the segmentations of a word, with merges left out."""
        word, choice = word_and_choice
        leave_out = self._draw(f"{self.seed} {choice} {word}")
        marked = SPACE + word
        parts = (marked[start : start + LONGEST] for start in range(0, len(marked), LONGEST))
        return tuple(each for part in parts for piece in self._merge(part, leave_out) for each in self._spell(piece))

    def _draw(self, key: str) -> Iterator[bool]:
        """Whether to leave out a merge, time and again. A hash costs a tenth of seeding a generator for each word."""
        limit = round(self.dropout * (1 << 16))
        for block in count():
            for number in struct.unpack("<32H", sha512(f"{block} {key}".encode()).digest()):
                yield number < limit

    def _merge(self, text: str, leave_out: Iterator[bool]) -> list[str]:
        """Merge the pair of the best rank that is not left out, again and again, until none is left."""
        rank = self._ids.get
        pieces = list(text)
        ranks = [rank(one + other, NEVER) for one, other in pairwise(text)]
        while True:
            candidates = ranks
            while (best := min(candidates, default=NEVER)) != NEVER and next(leave_out):
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
        """The id of a piece; of a character that the vocabulary lacks, its bytes."""
        known = self._ids.get(piece)
        return [known] if known is not None else [self.tokenizer.n_special + byte for byte in piece.encode()]
