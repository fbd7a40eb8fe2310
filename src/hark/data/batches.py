"""Batch construction: packed or padded batches, as set in `batches.kind`."""

from collections.abc import Sequence
from typing import assert_never

from hark.config import BatchConfig
from hark.data.packed import PackedBatch, PackedBatches
from hark.data.padded import PaddedBatch, PaddedBatches
from hark.data.pool import Corpus
from hark.data.stream import Batch, Batches, PackedStream, PaddedStream, StreamState, Tokens, TokenStream
from hark.text.vocabulary import SideIds, SpecialIds

__all__ = [
    "Batch",
    "Batches",
    "Corpus",
    "PackedBatch",
    "PackedBatches",
    "PackedStream",
    "PaddedBatch",
    "PaddedBatches",
    "PaddedStream",
    "StreamState",
    "TokenStream",
    "Tokens",
    "make_batches",
]


def make_batches(
    corpora: Sequence[Corpus], config: BatchConfig, special: SpecialIds, source: SideIds | None = None
) -> PackedBatches | PaddedBatches:
    """Return the endless batch stream of the corpora, each a (name, weight, token stores) tuple.

    `special` holds the special ids of the target vocabulary, `source` those of the source unless they are the same. The
    batches of a dataset are `Dataset.batches`.
    """
    match config.kind:
        case "packed":
            return PackedBatches(corpora, config, special, source)
        case "padded":
            return PaddedBatches(corpora, config, special, source)
    assert_never(config.kind)
