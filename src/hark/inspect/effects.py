"""Measures the effect of a head or a source word on one translation by removing it.

Attention shows where a model looks, not what makes the difference. Two things are measured: the log-probability of the
same translation, token by token (one row of a forced pass); and the new translation (a search, which takes longer, so
it is made only for the changes with the largest effects, all together).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F

from hark.inspect.attention import KINDS, Head
from hark.inspect.recording import Recording
from hark.inspect.variants import Advance, Change, Variants, gated, open_gates, translations
from hark.model import Transformer

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
    """The log-probabilities of the original translation's tokens."""
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
    heads = min(HEADS, sum(len(weights_HTS) for kind in KINDS for weights_HTS in recording.attention.of(kind)))
    words = min(WORDS, len(hideable(recording)))
    return 1 + heads + words + min(searched, heads) + min(searched, words)


def measure(
    model: Transformer, recording: Recording, decode: Decode, searched: int, advance: Advance = lambda: None
) -> Effects:
    """Remove heads and words one at a time. `searched`: the number of each to search for a new translation."""
    variants, estimated = Variants(model, recording), importance(model, recording)
    by_gradient = sorted(estimated, key=lambda head: -estimated[head])
    changes: list[Change] = [*by_gradient[:HEADS], *most_attended(recording)[:WORDS]]
    before, *after = variants.log_probs([None, *changes], advance)
    measured = [Effect(change, log_probs) for change, log_probs in zip(changes, after, strict=True)]
    measured.sort(key=lambda effect: -effect.loss(before))
    heads = [effect for effect in measured if isinstance(effect.change, Head)]
    words = [effect for effect in measured if not isinstance(effect.change, Head)]
    chosen = [*heads[:searched], *words[:searched]]
    hypotheses = translations(variants, [effect.change for effect in chosen], advance)
    translated = {}
    for effect, hypothesis in zip(chosen, hypotheses, strict=True):
        translated[effect.change] = replace(effect, text=decode(hypothesis.tokens), score=hypothesis.score)
    return Effects(
        before,
        tuple(translated.get(effect.change, effect) for effect in heads),
        tuple(translated.get(effect.change, effect) for effect in words),
        len(estimated),
    )


def most_attended(recording: Recording) -> list[int]:
    """The words that can be hidden, sorted by total attention over all steps and heads, most first."""
    weight_S = recording.attention.cross_LHTS.sum((0, 1, 2))
    return sorted(hideable(recording), key=lambda word: -sum(weight_S[[*recording.source.tokens_of(word)]]))


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
        slopes = torch.autograd.grad(loss, [gates[kind] for kind in KINDS])
    return {
        Head(kind, layer, number): abs(slope)
        for kind, slope_LH in zip(KINDS, slopes, strict=True)
        for layer, slope_H in enumerate(slope_LH.tolist())
        for number, slope in enumerate(slope_H)
    }
