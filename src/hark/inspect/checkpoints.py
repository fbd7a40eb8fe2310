"""The cross-attention of one sentence pair at a checkpoint of a run, to see how word alignment emerges in training."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hark.bundle import Bundle
from hark.engine.interface import AlignmentHeads
from hark.errors import UserError
from hark.inspect.attention import observe
from hark.inspect.words import Spelling, merge_tokens
from hark.model.weights import as_transformer, build_model, read_tensors
from hark.rundir import RunDir
from hark.text.opening import open_vocabularies


@dataclass(frozen=True, eq=False)
class WordAttention:
    """Attention between words. Each row is a word of the target and sums to one with the special tokens left out."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights_TS: NDArray[np.float64]


def attention_at(run: RunDir, step: int, source: str, target: str) -> WordAttention:
    """Return the mean attention of the heads that align words, in one forced pass over a given translation.

    The translation is given, and not the model's own, so that the pictures of all steps have the same words.
    """
    folder = run.checkpoints / f"step-{step}"
    bundle = Bundle.open(run.best)
    average = folder / "ema.safetensors"  # what dev scores are measured with, if the run keeps it
    values = read_tensors(average if average.exists() else folder / "model.safetensors")
    model = as_transformer(build_model(bundle.config.model, values, folder), folder)
    source_vocabulary, target_vocabulary = open_vocabularies(bundle)
    source_ids = source_vocabulary.source_ids(source)
    prefix, end = target_vocabulary.prefix(), target_vocabulary.special.end
    target_ids = [*prefix, *target_vocabulary.encode_one(target), end]
    if max(len(source_ids), len(target_ids)) > bundle.config.batches.max_length:
        raise UserError(f"the sentence has more than {bundle.config.batches.max_length} tokens")
    attention = observe(model, source_ids, [target_vocabulary.special.start, *target_ids[:-1]])
    heads = AlignmentHeads.default(bundle.config.model)
    steps_TS = attention.cross_LHTS[heads.layer, list(heads.heads)].mean(0)
    return between_words(
        heads.of_tokens(steps_TS, len(target_ids)),
        Spelling.of(source_ids, source_vocabulary),
        Spelling.of(target_ids, target_vocabulary),
    )


def between_words(weights_TS: NDArray[np.float32], source: Spelling, target: Spelling) -> WordAttention:
    merged = merge_tokens(weights_TS, target, source)
    kept = merged[np.ix_(target.text_words, source.text_words)]
    return WordAttention(
        tuple(source.words[at] for at in source.text_words),
        tuple(target.words[at] for at in target.text_words),
        kept / np.maximum(kept.sum(1, keepdims=True), 1e-9),
    )
