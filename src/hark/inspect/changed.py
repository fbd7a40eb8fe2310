"""Several changed models searched side by side: as fast as one, because they share their steps.

A hidden word, or a head of the encoder, changes the memory only, which each search has of its own anyhow. A head of the
decoder is silenced where its output is computed, in the rows of the search that goes without it. Everything else is the
engine's, which is watched for that.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from hark.decode.engines.torch import TorchEngine
from hark.decode.engines.watch import Watch
from hark.decode.request import Hypothesis, Request
from hark.errors import HarkError
from hark.inspect.ablation import without_heads, without_words
from hark.inspect.attention import Head, Kind
from hark.inspect.beam import PLACES
from hark.inspect.recording import Recording
from hark.model import Transformer

Change = Head | int
"""Without a head, or without a source word, by its number."""


def without(model: Transformer, recording: Recording, change: Change) -> tuple[Transformer, tuple[int, ...]]:
    """The model without a head or a word, and the source for it."""
    if isinstance(change, Head):
        return without_heads(model, [change]), recording.source_ids
    return without_words(model, recording.source_ids, recording.source.tokens_of(change))


class Changes(Watch):
    """Lets each request be translated by a model with a change of its own."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.of: dict[int, Change] = {}
        """By the number of the request."""

    def encoder(self, number: int, model: Transformer) -> Transformer:
        return without(model, self.recording, self.of[number])[0]

    def attended(self, kind: Kind, layer: int, out_BWHK: Tensor, weights_BHWS: Tensor) -> Tensor:  # noqa: ARG002
        """Zero for the heads of a layer that a sentence goes without."""
        gates_BH = torch.ones(len(self.numbers), out_BWHK.shape[2])
        for sentence, number in enumerate(self.numbers):
            head = self.of.get(number)
            if isinstance(head, Head) and (head.kind, head.layer) == (kind, layer):
                gates_BH[sentence, head.number] = 0.0
        return out_BWHK * gates_BH[:, None, :, None]


def translations(
    model: Transformer, recording: Recording, changes: Sequence[Change], advance: Callable[[], object] = lambda: None
) -> list[Hypothesis]:
    """The best translation of one sentence by a model with each of some changes; `advance` is told of each."""
    watch = Changes(recording)
    engine = TorchEngine(model, recording.special, "cpu", "float32", places=PLACES, watch=watch)
    wanted = recording.search.request
    for change in changes:
        _, source = without(model, recording, change)
        watch.of[engine.submit(Request(source, wanted.search, wanted.prefix, wanted.banned))] = change
    found: dict[int, Hypothesis] = {}
    while len(found) < len(changes):
        for number, answer in engine.step():
            if isinstance(answer, HarkError):
                raise answer
            found[number] = answer[0]
            advance()
    return [found[number] for number in watch.of]
