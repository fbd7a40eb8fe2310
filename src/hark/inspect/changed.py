"""Several changed models searched side by side: as fast as one, because they share their steps.

A hidden word, or a head of the encoder, changes the memory only, which each search has of its own anyhow. A head of the
decoder is silenced where its output is computed, in the rows of the search that goes without it. Everything else is the
engine's.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from torch import Tensor

from hark.decode.engines.jobs import Job
from hark.decode.engines.lane import Machine
from hark.decode.engines.torch import TorchEngine
from hark.decode.request import Hypothesis, Request
from hark.decode.scheduler import Entered
from hark.decode.search import candidates
from hark.inspect.ablation import without_heads, without_words
from hark.inspect.attention import Head, Kind
from hark.inspect.beam import PLACES
from hark.inspect.recording import Recording
from hark.model import Transformer
from hark.model.cache import Cache, CachedDecoder, Kept, Operations, Rows, attend_history, attend_memory

Change = Head | int
"""Without a head, or without a source word, by its number."""


def without(model: Transformer, recording: Recording, change: Change) -> tuple[Transformer, tuple[int, ...]]:
    """The model without a head or a word, and the source for it."""
    if isinstance(change, Head):
        return without_heads(model, [change]), recording.source_ids
    return without_words(model, recording.source_ids, recording.source.tokens_of(change))


class ChangedEngine(TorchEngine):
    """Searches for the translation of one sentence by a model with each of some changes."""

    def __init__(self, model: Transformer, recording: Recording, changes: Sequence[Change]) -> None:
        super().__init__(model, "cpu", "float32", places=PLACES)
        self.recording, self.changes = recording, changes
        self.silenced: dict[int, Head] = {}
        """Heads of the decoder, by the first place of the memory of the search that goes without them."""

    def translations(self, advance: Callable[[], object] = lambda: None) -> list[Hypothesis]:
        """The best of each change, in their order; `advance` is told of each that is done."""
        wanted = self.recording.search.request
        requests = [
            Request(without(self.model, self.recording, change)[1], wanted.search, wanted.prefix, wanted.banned)
            for change in self.changes
        ]
        found = {}
        for number, hypotheses in self.run(requests):
            found[number] = hypotheses[0]
            advance()
        return [found[number] for number in range(len(requests))]

    @cached_property
    @torch.no_grad()
    def machine(self) -> Machine:
        operations = Operations(attend_history=self._attend_history, attend_memory=self._attend_memory)
        cache = Cache.empty(self.config, self.places, self.device, self.dtype)
        return Machine(CachedDecoder(self.model, operations), cache, candidates, self.exact, None)

    def remember(self, entered: Sequence[Entered[Job]]) -> None:
        """Encode by the changed model."""
        own, _ = self.model, self.machine  # which is of the model as it is
        for each in entered:
            change = self.changes[each.job.number]
            self.silenced.pop(each.start, None)
            if isinstance(change, Head) and change.kind != "encoder":
                self.silenced[each.start] = change
            self.model, _ = without(own, self.recording, change)
            try:
                super().remember([each])
            finally:
                self.model = own

    def _attend_history(self, q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor, kept: Kept, rows: Rows) -> Tensor:
        out_RHK = attend_history(q_RHK, k_RHK, v_RHK, kept, rows)
        gates_BH = self._gates("decoder", kept, rows)
        return out_RHK * gates_BH.repeat_interleave(len(out_RHK) // len(gates_BH), dim=0)[..., None]

    def _attend_memory(self, q_BWHK: Tensor, kept: Kept, rows: Rows) -> Tensor:
        return attend_memory(q_BWHK, kept, rows) * self._gates("cross", kept, rows)[:, None, :, None]

    def _gates(self, kind: Kind, kept: Kept, rows: Rows) -> Tensor:
        """Zero for the heads of a layer that a sentence goes without, one for all others."""
        layer = kept.keys_PHK.storage_offset() // self.machine.cache.keys_LPHK.stride(0)
        gates_BH = torch.ones(len(rows.memory_B), self.config.n_heads)
        for row, start in enumerate(rows.memory_B.tolist()):
            head = self.silenced.get(start)
            if head is not None and (head.kind, head.layer) == (kind, layer):
                gates_BH[row, head.number] = 0.0
        return gates_BH
