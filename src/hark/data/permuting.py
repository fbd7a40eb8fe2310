"""Permutation language modelling (Yang et al., 2019): tokens are predicted in a random order, each from those before it
in that order, wherever these stand in the text."""

from dataclasses import dataclass

import numpy as np

from hark.data.masking import Masking
from hark.data.stream import PackedStream, Tokens

CONTEXT = 1
"""The rank of the tokens that are not predicted. They come first in the order, and see each other."""


@dataclass(frozen=True, eq=False)
class Permuting(Masking):
    """Partial prediction (2.3): of the tokens, only a share at the end of the order is predicted, the rest is context.

    No input is hidden. Instead each token to predict gets a query slot behind its sentence, with the mask as its input
    and its position, and `model.patterns.Permuted` says who sees whom.
    """

    @property
    def identity(self) -> tuple[object, ...]:
        return "any order", *super().identity

    def apply(self, stream: PackedStream[Tokens], real: int, generator: np.random.Generator) -> PackedStream[Tokens]:
        """Add a share of query slots, always the same number. Those without a token to predict hold padding, each as a
        sentence of its own."""
        slots = len(stream.tokens)
        queries = max(1, round(self.share * slots))
        places = self.choose(stream.tokens[:real], generator)[:queries]
        order = generator.permutation(len(places)).astype(np.int32)
        ranks = np.full(slots, CONTEXT, np.int32)
        ranks[places] = CONTEXT + 2 * (order + 1)
        # The queries of a sentence are sorted in behind its content.
        of_slot = np.concatenate([np.arange(slots), places])
        lengths = np.diff(stream.cu)
        sentence = np.repeat(np.arange(len(lengths)), lengths)[of_slot]
        sorting = np.argsort(sentence, kind="stable")
        unused = queries - len(places)

        def arrange(content: Tokens, query: Tokens, filler: int) -> Tokens:
            return np.concatenate([np.concatenate([content, query])[sorting], np.full(unused, filler, np.int32)])

        nothing, mask = np.full(slots, self.pad, np.int32), np.full(len(places), self.mask, np.int32)
        ends = np.cumsum(np.bincount(sentence, minlength=len(lengths)))
        singles = np.minimum(ends[-1] + 1 + np.arange(queries), slots + queries)
        return PackedStream(
            tokens=arrange(stream.tokens, mask, self.pad),
            positions=arrange(stream.positions, stream.positions[places], 0),
            cu=np.concatenate([[0], ends, singles]).astype(np.int32),
            labels=arrange(nothing, stream.tokens[places], self.pad),
            ranks=arrange(ranks, ranks[places] - 1, CONTEXT),
        )
