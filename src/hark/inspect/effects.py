"""What a head, or a source word, does for one translation: it is taken away, and what changes is measured.

Attention tells where a model looked, and not what made the difference. Two things are measured: how likely the same
translation still is, token by token (one forced pass); and what is translated instead (a search, which takes fifty
times as long, so that it is made for the changes of greatest effect only, all of them at once).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from hark.decode.engines.torch import TorchEngine
from hark.inspect.attention import KINDS, Head, Kind
from hark.inspect.changed import Change, translations, without
from hark.inspect.recording import Recording
from hark.model import Transformer, padded_layout
from hark.model.patterns import Pattern

HEADS = 12
"""Heads that are measured: those that a gradient says matter most."""
WORDS = 48
"""Words that are measured: all of a sentence of usual length, else those that are looked at most."""

Decode = Callable[[tuple[int, ...]], str]
Advance = Callable[[], object]
"""Told of each measurement that is done."""


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
    return heads + words + min(searched, heads) + min(searched, words)


def measure(
    model: Transformer, recording: Recording, decode: Decode, searched: int, advance: Advance = lambda: None
) -> Effects:
    """Take away heads and words one by one. `searched`: of how many of each to find the new translation."""
    before = log_probs(model, recording.source_ids, recording)

    def ranked(changes: Sequence[Change]) -> list[Effect]:
        """Measured, the greatest effect first."""
        found = []
        for change in changes:
            changed, source = without(model, recording, change)
            found.append(Effect(change, log_probs(changed, source, recording)))
            advance()
        return sorted(found, key=lambda effect: -effect.loss(before))

    estimated = importance(model, recording)
    heads = ranked(sorted(estimated, key=lambda head: -estimated[head])[:HEADS])
    words = ranked(most_looked_at(recording)[:WORDS])
    chosen = [*heads[:searched], *words[:searched]]
    again = translations(model, recording, [effect.change for effect in chosen], advance)
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


def log_probs(model: Transformer, source: Sequence[int], recording: Recording) -> tuple[float, ...]:
    """Of each token that was written. The scorer adds EOS, which a translation may lack."""
    (found,) = TorchEngine(model, recording.special, "cpu", "float32").score([(source, recording.hypothesis.tokens)])
    return found[: len(recording.written_ids)]


@dataclass(frozen=True, eq=False)
class Gated(Pattern):
    """Another pattern, each head's output multiplied by a gate of its own; layer after layer."""

    pattern: Pattern
    gates: Iterator[Tensor]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return self.pattern(q, k, v) * next(self.gates)[:, None]

    def visible(self, q: Tensor, k: Tensor) -> Tensor:
        return self.pattern.visible(q, k)


def importance(model: Transformer, recording: Recording) -> dict[Head, float]:
    """How much each head matters for the translation, to first order: the derivative of its log-probability by a gate
    on the head, which one pass backwards gives for all heads at once (Michel et al., 2019)."""
    config = model.config
    layers: dict[Kind, int] = {
        "encoder": config.n_encoder_layers,
        "decoder": config.n_decoder_layers,
        "cross": config.n_decoder_layers,
    }
    gates = {kind: torch.ones(layers[kind], config.n_heads, requires_grad=True) for kind in KINDS}
    source, read, written = (
        torch.tensor([[*ids]]) for ids in (recording.source_ids, recording.read_ids, recording.written_ids)
    )
    layout = padded_layout(torch.tensor([source.shape[1]]), torch.tensor([read.shape[1]]))
    layout = replace(
        layout,
        encoder=Gated(layout.encoder, iter(gates["encoder"])),
        decoder=Gated(layout.decoder, iter(gates["decoder"])),
        cross=Gated(layout.cross, iter(gates["cross"])),
    )
    with torch.enable_grad():
        loss = F.cross_entropy(model(source, read, layout)[0], written[0], reduction="sum")
        slopes = torch.autograd.grad(loss, [gates[kind] for kind in KINDS])
    return {
        Head(kind, layer, number): abs(slope)
        for kind, slope_LH in zip(KINDS, slopes, strict=True)
        for layer, slope_H in enumerate(slope_LH.tolist())
        for number, slope in enumerate(slope_H)
    }
