"""What a head, or a source word, does for one translation: it is taken away, and what changes is measured.

Attention tells where a model looked, and not what made the difference. Two things are measured: how likely the same
translation still is, token by token (a row of one forced pass); and what is translated instead (a search, which takes
longer, so that it is made for the changes of greatest effect only, all of them at once).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F

from hark.inspect.attention import KINDS, Head
from hark.inspect.changed import translations
from hark.inspect.recording import Recording
from hark.inspect.variants import Advance, Change, Variants, gated, open_gates
from hark.model import Transformer, padded_layout

HEADS = 12
"""Heads that are measured: those that a gradient says matter most."""
WORDS = 48
"""Words that are measured: all of a sentence of usual length, else those that are looked at most."""

Decode = Callable[[tuple[int, ...]], str]


@dataclass(frozen=True)
class Effect:
    """What taking something away does."""

    change: Change
    log_probs: tuple[float, ...]
    """Of the tokens that were written with everything there."""
    text: str | None = None
    """What is translated now; None where it was not searched for."""
    score: float | None = None

    def loss(self, before: Sequence[float]) -> float:
        """By how much the log-probability of the translation falls."""
        return sum(before) - sum(self.log_probs)


@dataclass(frozen=True)
class Effects:
    """Measured effects, the greatest first, beside what they are compared with."""

    log_probs: tuple[float, ...]
    heads: tuple[Effect, ...]
    words: tuple[Effect, ...]
    heads_in_all: int


def count_measurements(recording: Recording, searched: int) -> int:
    """How many times `measure` will tell that it got on."""
    heads = min(HEADS, sum(len(weights_HTS) for kind in KINDS for weights_HTS in recording.attention.of(kind)))
    words = min(WORDS, len(hideable(recording)))
    return 1 + heads + words + min(searched, heads) + min(searched, words)


def measure(
    model: Transformer, recording: Recording, decode: Decode, searched: int, advance: Advance = lambda: None
) -> Effects:
    """Take away heads and words one by one. `searched`: of how many of each to find the new translation."""
    variants, estimated = Variants(model, recording), importance(model, recording)
    by_slope = sorted(estimated, key=lambda head: -estimated[head])
    changes: list[Change] = [*by_slope[:HEADS], *most_looked_at(recording)[:WORDS]]
    before, *after = variants.log_probs([None, *changes], advance)
    measured = [Effect(change, log_probs) for change, log_probs in zip(changes, after, strict=True)]
    measured.sort(key=lambda effect: -effect.loss(before))
    heads = [effect for effect in measured if isinstance(effect.change, Head)]
    words = [effect for effect in measured if not isinstance(effect.change, Head)]
    chosen = [*heads[:searched], *words[:searched]]
    again = translations(variants, [effect.change for effect in chosen], advance)
    found = {}
    for effect, hypothesis in zip(chosen, again, strict=True):
        found[effect.change] = replace(effect, text=decode(hypothesis.tokens), score=hypothesis.score)
    return Effects(
        before,
        tuple(found.get(effect.change, effect) for effect in heads),
        tuple(found.get(effect.change, effect) for effect in words),
        len(estimated),
    )


def most_looked_at(recording: Recording) -> list[int]:
    """Words that can be hidden, those first that all steps and heads together looked at most."""
    weight_S = recording.attention.cross_LHTS.sum((0, 1, 2))
    return sorted(hideable(recording), key=lambda word: -sum(weight_S[[*recording.source.tokens_of(word)]]))


def hideable(recording: Recording) -> tuple[int, ...]:
    """Words that can be hidden: where there is one word and no mark, nothing would be left to see."""
    spoken = recording.source.spoken
    return spoken if len(spoken) < len(recording.source.words) or len(spoken) > 1 else ()


def importance(model: Transformer, recording: Recording) -> dict[Head, float]:
    """How much each head matters for the translation, to first order: the derivative of its log-probability by a gate
    on the head, which one pass backwards gives for all heads at once (Michel et al., 2019)."""
    gates = {kind: each.requires_grad_() for kind, each in open_gates(model.config).items()}
    source, read, written = (
        torch.tensor([[*ids]]) for ids in (recording.source_ids, recording.read_ids, recording.written_ids)
    )
    layout = gated(padded_layout(torch.tensor([source.shape[1]]), torch.tensor([read.shape[1]])), gates)
    with torch.enable_grad():
        loss = F.cross_entropy(model(source, read, layout)[0], written[0], reduction="sum")
        slopes = torch.autograd.grad(loss, [gates[kind] for kind in KINDS])
    return {
        Head(kind, layer, number): abs(slope)
        for kind, slope_LH in zip(KINDS, slopes, strict=True)
        for layer, slope_H in enumerate(slope_LH.tolist())
        for number, slope in enumerate(slope_H)
    }
