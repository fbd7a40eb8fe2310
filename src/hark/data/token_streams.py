"""Named token streams: the model inputs of a batch. A training objective looks them up by name.

Translation has two, "source" and "target"; a language model has one. The arrays are numpy arrays on the host and
tensors on a device; the classes are generic over both, so this package does not import torch.
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
    """Token ids of sentences, packed or padded, with labels if the model is to predict them."""

    tokens: A
    labels: A | None

    def arrays(self) -> dict[str, A]:
        """Return the arrays by name; an input-only stream has no labels."""
        return {name: array for name, array in vars(self).items() if array is not None}

    def map(self, change: Callable[[A], C]) -> "TokenStream[C]":
        """Return the stream with `change` applied to each array, e.g. to move it to a device."""
        kind: Any = type(self)
        mapped: TokenStream[C] = kind(**{name: change(array) for name, array in self.arrays().items()})
        return mapped


@dataclass(frozen=True, eq=False)
class PackedStream(TokenStream[A]):
    """Concatenated sentences: sentence j occupies the slots cu[j] to cu[j + 1].

    Unused slots hold the pad id and form dummy sentences of at most `max_length` slots after the real ones; the
    remaining entries of `cu` repeat the number of slots. So `cu` always covers every slot.
    """

    tokens: A  # (N,): model inputs
    positions: A  # (N,): 0, 1, 2 .. within each sentence
    cu: A  # (C + 1,): cumulative lengths
    labels: A | None = None  # (N,): the next token; pad where there is no prediction


@dataclass(frozen=True, eq=False)
class PaddedStream(TokenStream[A]):
    """One row per sentence, filled with the pad id."""

    tokens: A  # (B, T)
    lengths: A  # (B,)
    labels: A | None = None  # (B, T)
