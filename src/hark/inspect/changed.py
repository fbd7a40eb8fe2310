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
from hark.inspect.attention import Head, Kind
from hark.inspect.beam import PLACES
from hark.inspect.variants import Advance, Change, Variants


class Changes(Watch):
    """Lets each request be translated by a model with a change of its own."""

    def __init__(self, variants: Variants) -> None:
        self.variants = variants
        self.of: dict[int, Change] = {}
        """By the number of the request."""

    def memory(self, number: int, encode: Callable[[], Tensor]) -> Tensor:  # noqa: ARG002
        (memory_SD,) = self.variants.memories([self.of[number]])
        return memory_SD

    def attended(self, kind: Kind, layer: int, out_BWHK: Tensor, weights_BHWS: Tensor) -> Tensor:  # noqa: ARG002
        """Zero for the heads of a layer that a sentence goes without."""
        gates_BH = torch.ones(len(self.numbers), out_BWHK.shape[2])
        for sentence, number in enumerate(self.numbers):
            head = self.of.get(number)
            if isinstance(head, Head) and (head.kind, head.layer) == (kind, layer):
                gates_BH[sentence, head.number] = 0.0
        return out_BWHK * gates_BH[:, None, :, None]


def translations(variants: Variants, changes: Sequence[Change], advance: Advance = lambda: None) -> list[Hypothesis]:
    """The best translation of the sentence by a model with each of some changes; `advance` is told of each."""
    watch, recording = Changes(variants), variants.recording
    engine = TorchEngine(variants.model, recording.special, "cpu", "float32", places=PLACES, watch=watch)
    wanted = recording.search.request
    variants.memories(changes)  # all at once: the engine asks one by one
    for change in changes:
        request = Request(variants.source(change), wanted.search, wanted.prefix, wanted.banned)
        watch.of[engine.submit(request)] = change
    found: dict[int, Hypothesis] = {}
    while len(found) < len(changes):
        for number, answer in engine.step():
            if isinstance(answer, HarkError):
                raise answer
            found[number] = answer[0]
            advance()
    return [found[number] for number in watch.of]
