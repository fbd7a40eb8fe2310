"""Masked language modelling: some tokens are hidden, others each time, and predicted from both sides."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hark.data.stream import PackedStream, Tokens
from hark.errors import UserError
from hark.text.vocabulary import Vocabulary

MASKED, REPLACED = 0.8, 0.1
"""Of the tokens to predict, the shares that the mask and a random token stand for; the rest stay as they are, so that
the model cannot trust any token (Devlin et al., 2019, 3.1)."""


@dataclass(frozen=True, eq=False)
class Masking:
    """How tokens are hidden: a share of them, or about that share in whole words."""

    mask: int
    share: float
    pad: int
    special_V: NDArray[np.bool_]
    """Which ids represent no text; these are never hidden."""
    begins_V: NDArray[np.bool_] | None = None
    """Which ids begin a word; None: tokens are hidden one by one."""

    @classmethod
    def of(cls, vocabulary: Vocabulary, share: float, whole_words: bool, pad: int) -> "Masking":
        if vocabulary.mask is None:
            raise UserError(f"{vocabulary.name}: has no token that hides others; prepare the text with hark prepare")
        ids = range(vocabulary.vocab_size)
        special_V = np.array([vocabulary.is_special(token) for token in ids])
        begins_V = np.array([vocabulary.begins_word(token) for token in ids]) if whole_words else None
        return cls(vocabulary.mask, share, pad, special_V, begins_V)

    @property
    def identity(self) -> tuple[object, ...]:
        """What the fingerprint of a stream of batches hashes."""
        return self.mask, self.share, self.begins_V is not None

    @cached_property
    def text(self) -> int:
        """An id that represents text."""
        return int(np.argmin(self.special_V))

    def apply(self, stream: PackedStream[Tokens], real: int, generator: np.random.Generator) -> PackedStream[Tokens]:
        """Return a batch whose first slots hold text, with some of it hidden and only that in the labels."""
        inputs, labels = stream.tokens.copy(), np.full_like(stream.tokens, self.pad)
        inputs[:real], labels[:real] = self.hide(inputs[:real], generator)
        return replace(stream, tokens=inputs, labels=labels)

    def hide(self, tokens: Tokens, generator: np.random.Generator) -> tuple[Tokens, Tokens]:
        """Return the input, and the labels: what is hidden, and padding elsewhere."""
        chosen = self.choose(tokens, generator)
        inputs, labels = tokens.copy(), np.full_like(tokens, self.pad)
        labels[chosen] = tokens[chosen]
        fate = generator.random(len(chosen))
        inputs[chosen[fate < MASKED]] = self.mask
        replaced = chosen[(fate >= MASKED) & (fate < MASKED + REPLACED)]
        inputs[replaced] = generator.choice(np.flatnonzero(~self.special_V), len(replaced))
        return inputs, labels

    def choose(self, tokens: Tokens, generator: np.random.Generator) -> NDArray[np.intp]:
        """Return the places to predict, in order: always at least one, if there is any text."""
        places = np.flatnonzero(~self.special_V[tokens])
        if not len(places):
            return places
        count = max(1, round(self.share * len(places)))
        if self.begins_V is None:
            return np.sort(generator.choice(places, count, replace=False))
        # A word begins where its first token says so, and after a special token.
        begins = self.begins_V[tokens[places]] | (np.diff(places, prepend=-2) > 1)
        word = np.cumsum(begins) - 1
        sizes = np.bincount(word)
        order = generator.permutation(len(sizes))
        taken = order[: max(1, int(np.searchsorted(np.cumsum(sizes[order]), count, side="right")))]
        return places[np.isin(word, taken)]
