"""Batches of a dataset, in the way that the settings ask for."""

from collections.abc import Sequence
from typing import assert_never

from hark.config import BatchConfig
from hark.data.packed import PackedBatch, PackedBatches
from hark.data.padded import PaddedBatch, PaddedBatches
from hark.data.pool import Corpus
from hark.data.stream import MARKS, Batch, Batches, Marks, StreamState

__all__ = [
    "Batch",
    "Batches",
    "Corpus",
    "Marks",
    "PackedBatch",
    "PackedBatches",
    "PaddedBatch",
    "PaddedBatches",
    "StreamState",
    "make_batches",
]


def make_batches(corpora: Sequence[Corpus], config: BatchConfig, marks: Marks = MARKS) -> PackedBatches | PaddedBatches:
    """The endless stream of batches of some corpora: (name, weight, token stores) each."""
    match config.kind:
        case "packed":
            return PackedBatches(corpora, config, marks)
        case "padded":
            return PaddedBatches(corpora, config, marks)
    assert_never(config.kind)
