"""Named token streams: what a batch holds for the model. An objective asks for those it needs by name.

Translation has two, "source" and "target"; a language model has one. A stream is made of numpy arrays, and of tensors
once it is on a device. The same classes serve both, so that this room needs no torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int32]
A = TypeVar("A")
C = TypeVar("C")


class TokenStream(Generic[A]):
    """Sentences of token ids, packed or padded, and what the model should predict where it should predict anything."""

    tokens: A
    labels: A | None

    def arrays(self) -> dict[str, A]:
        """The arrays by name; a stream that is only read has no labels."""
        return {name: array for name, array in vars(self).items() if array is not None}

    def map(self, change: Callable[[A], C]) -> "TokenStream[C]":
        """The same stream with each of its arrays changed: moved to a device, say."""
        kind: Any = type(self)
        made: TokenStream[C] = kind(**{name: change(array) for name, array in self.arrays().items()})
        return made


@dataclass(frozen=True, eq=False)
class PackedStream(TokenStream[A]):
    """Sentences end to end: sentence j occupies the slots cu[j] to cu[j + 1].

    Slots that are left over hold the pad id and form dummy sentences of at most `max_length` slots after the real
    ones; the remaining entries of `cu` repeat the number of slots. So `cu` always covers every slot.
    """

    tokens: A  # (N,): what the model reads
    positions: A  # (N,): 0, 1, 2 .. in each sentence
    cu: A  # (C + 1,): cumulative lengths
    labels: A | None = None  # (N,): the token that follows each; pad where nothing is to be predicted


@dataclass(frozen=True, eq=False)
class PaddedStream(TokenStream[A]):
    """A row a sentence; the pad id fills rows up."""

    tokens: A  # (B, T)
    lengths: A  # (B,)
    labels: A | None = None  # (B, T)
