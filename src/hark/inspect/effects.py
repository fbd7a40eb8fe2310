"""Measures the effect of a head or a word on one translation or text by removing it.

Attention shows where a model looks, not what makes the difference. Two things are measured: the log-probability of the
same tokens (one row of a forced pass); and, of a translation, the new one (a search, which takes longer, so it is made
only for the changes with the largest effects, all together).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from hark.inspect.attention import KINDS, Attention, AttentionKind, Head, lay_out
from hark.inspect.reading import TextReading
from hark.inspect.recording import Recording
from hark.inspect.variants import Advance, Change, TextVariants, Variants, gated, open_gates, translations
from hark.inspect.words import Spelling
from hark.model import OneStack, Transformer

HEADS = 12
"""Number of heads to measure: those with the largest gradients."""
WORDS = 48
"""Maximum number of words to measure: in longer sentences, those with the most attention."""

Decode = Callable[[tuple[int, ...]], str]


@dataclass(frozen=True)
class Effect:
    """The effect of removing a head or a word."""

    change: Change
    log_probs: tuple[float, ...]
    """The log-probabilities of the tokens of the original translation, or of a text."""
    text: str | None = None
    """The new translation; None if it was not searched for."""
    score: float | None = None

    def loss(self, before: Sequence[float]) -> float:
        """The decrease in the log-probability of the original translation."""
        return sum(before) - sum(self.log_probs)


@dataclass(frozen=True)
class Effects:
    """Measured effects, largest first, with the log-probabilities of the unchanged model."""

    log_probs: tuple[float, ...]
    heads: tuple[Effect, ...]
    words: tuple[Effect, ...]
    heads_in_all: int


def count_measurements(recording: Recording, searched: int) -> int:
    """The number of times that `measure` will call `advance`."""
    heads, words = count_heads(recording.attention), min(WORDS, len(hideable(recording)))
    return 1 + heads + words + min(searched, heads) + min(searched, words)


def count_text_measurements(reading: TextReading) -> int:
    """The number of times that `measure_text` will call `advance`."""
    return 1 + count_heads(reading.attention) + min(WORDS, len(hideable_words(reading)))


def count_heads(attention: Attention) -> int:
    """The number of heads to measure."""
    return min(HEADS, sum(len(weights_HTS) for kind in attention.kinds for weights_HTS in attention.of(kind)))


def measure(
    model: Transformer, recording: Recording, decode: Decode, searched: int, advance: Advance = lambda: None
) -> Effects:
    """Remove heads and words one at a time. `searched`: the number of each to search for a new translation."""
    variants = Variants(model, recording)
    words = most_attended(recording.source, hideable(recording), recording.attention.cross_LHTS)
    effects = remove_each(variants, importance(model, recording), words, advance)
    chosen = [*effects.heads[:searched], *effects.words[:searched]]
    hypotheses = translations(variants, [effect.change for effect in chosen], advance)
    translated = {}
    for effect, hypothesis in zip(chosen, hypotheses, strict=True):
        translated[effect.change] = replace(effect, text=decode(hypothesis.tokens), score=hypothesis.score)
    return replace(
        effects,
        heads=tuple(translated.get(effect.change, effect) for effect in effects.heads),
        words=tuple(translated.get(effect.change, effect) for effect in effects.words),
    )


def measure_text(model: OneStack, reading: TextReading, advance: Advance = lambda: None) -> Effects:
    """Remove heads and words one at a time, for a model of one stack."""
    words = most_attended(reading.spelling, hideable_words(reading), reading.attention.of(reading.kind))
    return remove_each(TextVariants(model, reading), text_importance(model, reading), words, advance)


def remove_each(
    variants: Variants | TextVariants, estimated: Mapping[Head, float], words: Sequence[int], advance: Advance
) -> Effects:
    """Measure the heads with the largest gradients, and these words."""
    by_gradient = sorted(estimated, key=lambda head: -estimated[head])
    changes: list[Change] = [*by_gradient[:HEADS], *words[:WORDS]]
    before, *after = variants.log_probs([None, *changes], advance)
    measured = [Effect(change, log_probs) for change, log_probs in zip(changes, after, strict=True)]
    measured.sort(key=lambda effect: -effect.loss(before))
    return Effects(
        before,
        tuple(effect for effect in measured if isinstance(effect.change, Head)),
        tuple(effect for effect in measured if not isinstance(effect.change, Head)),
        len(estimated),
    )


def most_attended(spelling: Spelling, words: Sequence[int], weights_LHTS: NDArray[np.float32]) -> list[int]:
    """The words sorted by total attention over all steps and heads, most first."""
    weight_S = weights_LHTS.sum((0, 1, 2))
    return sorted(words, key=lambda word: -sum(weight_S[[*spelling.tokens_of(word)]]))


def hideable_words(reading: TextReading) -> tuple[int, ...]:
    """The words of a text that can be hidden: all but the masks that are scored."""
    asked = set(reading.scored) if reading.kind == "encoder" else set()
    return tuple(word for word in reading.spelling.text_words if not asked & {*reading.spelling.tokens_of(word)})


def hideable(recording: Recording) -> tuple[int, ...]:
    """The words that can be hidden: not the only word if there is no special token, as nothing would be left."""
    words = recording.source.text_words
    return words if len(words) < len(recording.source.words) or len(words) > 1 else ()


def importance(model: Transformer, recording: Recording) -> dict[Head, float]:
    """The first-order importance of each head for the translation: the derivative of the log-probability with respect
    to a gate on the head, which one backward pass gives for all heads (Michel et al., 2019)."""
    gates = {kind: each.requires_grad_() for kind, each in open_gates(model.config).items()}
    source, read, written = (
        torch.tensor([[*ids]]) for ids in (recording.source_ids, recording.read_ids, recording.written_ids)
    )
    lengths = {"source": torch.tensor([source.shape[1]]), "target": torch.tensor([read.shape[1]])}
    layout = gated(model.padded_layout(lengths), gates)
    with torch.enable_grad():
        loss = F.cross_entropy(model(source, read, layout)[0], written[0], reduction="sum")
        return slopes_of(loss, gates)


def text_importance(model: OneStack, reading: TextReading) -> dict[Head, float]:
    """The same for a text of a model of one stack."""
    gates = {kind: each.requires_grad_() for kind, each in open_gates(model.config).items()}
    streams, layout = lay_out(model, [(reading.ids,)])
    with torch.enable_grad():
        hidden_ND = model.hidden(streams, gated(layout, gates))[0, list(reading.rows)]
        loss = F.cross_entropy(model.logits(hidden_ND), torch.tensor(reading.wanted), reduction="sum")
        return slopes_of(loss, gates)


def slopes_of(loss: Tensor, gates: Mapping[AttentionKind, Tensor]) -> dict[Head, float]:
    """The size of the derivative with respect to each gate."""
    kinds = [kind for kind in KINDS if kind in gates]
    slopes = torch.autograd.grad(loss, [gates[kind] for kind in kinds])
    return {
        Head(kind, layer, number): abs(slope)
        for kind, slope_LH in zip(kinds, slopes, strict=True)
        for layer, slope_H in enumerate(slope_LH.tolist())
        for number, slope in enumerate(slope_H)
    }
