"""Packed batches of whole texts with labels of some of their tokens: of the first, or of the first of each word."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hark.config import BatchConfig
from hark.data.packed import PackedBatch, PackedBatches, number_slots
from hark.data.pool import Corpus
from hark.data.stream import Batch, PackedStream, Tokens
from hark.errors import UserError
from hark.text.vocabulary import SideIds, SpecialIds

UNLABELLED = -1
"""The label of a token that has none. Those of others are numbered from 0, so that no special id can stand for it."""


class LabelledBatches(PackedBatches):
    """Texts packed as pairs are, with their labels as the other side: of the same length, without label at the end.

    Of a text that is too long, the beginning is read.
    """

    def __init__(self, corpora: Sequence[Corpus], config: BatchConfig, special: SpecialIds) -> None:
        if config.kind != "packed":
            raise UserError("texts with labels are packed without padding; leave out batches.kind")
        longest = config.max_length - 1  # besides the end
        super().__init__(
            [each._replace(variants=[s.shortened(longest) for s in each.variants]) for each in corpora], config, special
        )
        self.sides = {"source": SideIds(special.pad, special.end), "target": SideIds(0, 0)}

    @property
    def ignored(self) -> int:
        return UNLABELLED

    def _assemble(self, index: int, pairs: NDArray[np.int64], n_skipped: int) -> PackedBatch:
        pairs, pieces = self._by_store(pairs)
        slots = max(self.capacity.slots)
        tokens, cu, count = self._concatenate(pieces, "source", slots)
        numbers = self._concatenate(pieces, "target", slots)[0]
        hidden = int(np.count_nonzero(numbers))
        return Batch(index, pairs, self._stream(tokens, cu, numbers - 1), {"target": count}, hidden, n_skipped)

    def worst_case(self) -> PackedBatch:
        batch = super().worst_case()
        whole = batch.streams["source"]
        return Batch(-1, batch.pairs, self._stream(whole.tokens, whole.cu, np.zeros_like(whole.tokens)), batch.n_tokens)

    def _stream(self, tokens: Tokens, cu: Tokens, labels: Tokens) -> dict[str, PackedStream[Tokens]]:
        """The only stream, named as that of a model of one stack."""
        return {"target": PackedStream(tokens, number_slots(cu, len(tokens)), cu, labels)}
