"""Translates a sentence with several changed models in one batch: as fast as one model, because they share their steps.

Hiding a word or removing an encoder head changes only the memory, which each search has of its own anyway. The output
of a removed decoder head is set to zero in the rows of its search, through the hooks of `Watch`.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from hark.engine.request import Hypothesis, Request
from hark.engine.torch import TorchEngine
from hark.engine.watch import Watch
from hark.errors import HarkError
from hark.inspect.attention import AttentionKind, Head
from hark.inspect.beam import PLACES
from hark.inspect.variants import Advance, Change, Variants


class Changes(Watch):
    """Hooks that apply a different change to the model for each request."""

    def __init__(self, variants: Variants) -> None:
        self.variants = variants
        self.of: dict[int, Change] = {}
        """Changes by request number."""

    def memory(self, number: int, encode: Callable[[], Tensor]) -> Tensor:  # noqa: ARG002
        (memory_SD,) = self.variants.memories([self.of[number]])
        return memory_SD

    def attended(self, kind: AttentionKind, layer: int, out_BWHK: Tensor, weights_BHWS: Tensor) -> Tensor:  # noqa: ARG002
        """Zero the outputs of removed heads."""
        gates_BH = torch.ones(len(self.numbers), out_BWHK.shape[2])
        for sentence, number in enumerate(self.numbers):
            head = self.of.get(number)
            if isinstance(head, Head) and (head.kind, head.layer) == (kind, layer):
                gates_BH[sentence, head.number] = 0.0
        return out_BWHK * gates_BH[:, None, :, None]


def translations(variants: Variants, changes: Sequence[Change], advance: Advance = lambda: None) -> list[Hypothesis]:
    """Return the best translation of the sentence for each change; `advance` is called after each."""
    watch, recording = Changes(variants), variants.recording
    engine = TorchEngine(variants.model, recording.special, "cpu", "float32", places=PLACES, watch=watch)
    original = recording.search.request
    variants.memories(changes)  # in batches; the engine would request them one by one
    for change in changes:
        request = Request(variants.source(change), original.search, original.prefix, original.banned)
        watch.of[engine.submit(request)] = change
    found: dict[int, Hypothesis] = {}
    while len(found) < len(changes):
        for number, answer in engine.step():
            if isinstance(answer, HarkError):
                raise answer
            found[number] = answer[0]
            advance()
    return [found[number] for number in watch.of]
