"""The workload of the training benchmark: packed and padded batches with realistic lengths, and its operation count.

Only the lengths are realistic: the tokens are random. Tensors are named as in `hark.model`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hark.config import BatchConfig, ModelConfig
from hark.data.batches import Batch, Corpus, PackedBatch, PackedStream, PaddedBatch, TokenStream, make_batches
from hark.data.store import TokenStore
from hark.text.tokenizer import SPECIAL

VOCABULARY = 37_000
CORPUS = 4_500_000
"""Pairs in the corpus, as in the paper (5.1): the larger the corpus, the less padding length buckets need."""
PASSES = 4
"""Repetitions of the pairs in the packed batches: a half-empty last batch weighs less, as in training."""
FIRST_TOKEN = 300
"""Smaller ids are special tokens and bytes."""

Lengths = NDArray[np.int64]


@dataclass(frozen=True)
class Workload:
    """The same sentence pairs, packed and in length buckets."""

    packed: Sequence[PackedBatch]
    padded: Sequence[PaddedBatch]


def make_workload(config: BatchConfig, vocab_size: int, steps: int, corpus: int = CORPUS) -> Workload:
    """Take `steps` buckets of a corpus, evenly spaced by length, and pack the same pairs.

    Buckets of a small corpus would be wide, with padding that is unfair to the peers. So all pairs of a corpus of
    realistic size get a length and are sorted into buckets, and only those used in a step get tokens.
    """
    source, target = draw_lengths(corpus, config.max_length)
    padded = replace(config, kind="padded")
    buckets = make_batches([Corpus("lengths", 1.0, [constant_store(source, target)])], padded, SPECIAL).buckets[0]  # type: ignore[union-attr]
    chosen = np.unique(((np.arange(steps) + 0.5) * len(buckets) / steps).astype(np.int64))
    rows = [buckets.rows[buckets.cuts[bucket] : buckets.cuts[bucket + 1]] for bucket in chosen]
    stores = [random_store(source[each], target[each], vocab_size, seed) for seed, each in enumerate(rows)]
    packed = make_batches([Corpus("synthetic", 1.0, [join(stores * PASSES)])], replace(config, kind="packed"), SPECIAL)
    return Workload(
        [packed[i] for i in range(steps)],  # type: ignore[misc]
        [make_batches([Corpus("bucket", 1.0, [store])], padded, SPECIAL)[0] for store in stores],  # type: ignore[misc]
    )


def draw_lengths(pairs: int, longest: int) -> tuple[Lengths, Lengths]:
    """Draw the tokens per side, including EOS: log-normal, 28 on average, with a long tail."""
    rng = np.random.default_rng(0)
    source = np.clip(rng.lognormal(3.15, 0.62, pairs), 2, longest).astype(np.int64)
    target = np.clip(source * rng.lognormal(0.03, 0.18, pairs), 2, longest).astype(np.int64)
    return source, target


def make_store(source: Lengths, target: Lengths, draw: Callable[[int], NDArray[np.uint16]]) -> TokenStore:
    """A store of pairs of given lengths; `draw` makes the tokens of a side."""
    lengths = {"source": source - 1, "target": target - 1}  # the store has no special tokens
    offsets = {side: np.concatenate([[0], np.cumsum(each)]) for side, each in lengths.items()}
    tokens = {side: draw(int(each[-1])) for side, each in offsets.items()}
    return TokenStore(Path("synthetic"), tokens, offsets)  # type: ignore[arg-type]


def constant_store(source: Lengths, target: Lengths) -> TokenStore:
    """The same id everywhere, which takes no memory."""
    return make_store(source, target, lambda number: np.broadcast_to(np.uint16(FIRST_TOKEN), number))


def random_store(source: Lengths, target: Lengths, vocab_size: int, seed: int) -> TokenStore:
    rng = np.random.default_rng(seed)
    return make_store(source, target, lambda number: rng.integers(FIRST_TOKEN, vocab_size, number, np.uint16))


def join(stores: Sequence[TokenStore]) -> TokenStore:
    """Concatenate the pairs of several stores."""
    pairs = [store[i] for store in stores for i in range(len(store))]
    sources, targets = zip(*pairs, strict=True)
    tokens = iter([np.concatenate(sources), np.concatenate(targets)])
    source, target = (np.array([len(ids) + 1 for ids in side]) for side in (sources, targets))
    return make_store(source, target, lambda _: next(tokens))


def lengths_of(batch: Batch[Any]) -> tuple[Lengths, Lengths]:
    """The number of source and target tokens of each real pair of a batch."""

    def of_stream(stream: TokenStream[Any]) -> Lengths:
        found = np.diff(stream.cu)[: batch.n_pairs] if isinstance(stream, PackedStream) else stream.arrays()["lengths"]
        lengths: Lengths = found.astype(np.int64)
        return lengths

    return of_stream(batch.streams["source"]), of_stream(batch.streams["target"])


def operations(model: ModelConfig, source: Lengths, target: Lengths) -> float:
    """Count the floating-point operations that one step over pairs of these lengths requires, in matrix products only.

    Each weight of a matrix takes 2 per real token forward and 4 backward (gradients of input and weight): source tokens
    pass the encoder and the keys and values of cross-attention, target tokens the rest of the decoder and the output
    matrix. Each query takes 2 (K + V) per visible key and head forward (scores, sum of values) and twice as many
    backward; a causal query sees itself and earlier positions. Not counted: padding, masked scores, and recomputation.
    """
    d, h, k, v = model.d_model, model.n_heads, model.k_width, model.v_width
    keys_values, queries_out = d * h * (k + v), d * h * (k + v)
    feed_forward = (3 if model.activation == "swiglu" else 2) * d * model.d_ff
    layer = keys_values + queries_out + feed_forward
    per_source = model.n_encoder_layers * layer + model.n_decoder_layers * keys_values
    per_target = model.n_decoder_layers * (layer + queries_out) + model.vocab_size * d
    seen_by_encoder = (source * source).sum()
    seen_by_decoder = (target * (target + 1) // 2).sum() + (source * target).sum()
    seen = model.n_encoder_layers * seen_by_encoder + model.n_decoder_layers * seen_by_decoder
    return 6.0 * float(per_source * source.sum() + per_target * target.sum() + h * (k + v) * seen)
