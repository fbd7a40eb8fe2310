"""Hooks that observe and change a search while `TorchEngine` decodes; `hark.inspect` is built on them.

`numbers` are those of requests; -1 marks a padding row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from hark.engine.interface import Hypotheses, Request
from hark.engine.search import Beams, Candidates, SearchParams
from hark.model.cache import LayerCache, Operations, Rows, history_attention, memory_attention


@dataclass(frozen=True, eq=False)
class SearchStep:
    """One step of a batch of searches: the beams before, the candidates, and the beams after."""

    before: Beams
    params: SearchParams
    logits_BWV: Tensor
    found: Candidates
    after: Beams


class Watch:
    """Hooks that do nothing, for subclasses to override. They are called in the thread that steps."""

    numbers: Sequence[int] = ()
    """The request number of each of the B sentences of the current step."""

    def memory(self, number: int, encode: Callable[[], Tensor]) -> Tensor:  # noqa: ARG002
        """Return the memory of a request's source, (S, D); `encode` computes it."""
        return encode()

    def attended(self, kind: Literal["decoder", "cross"], layer: int, out_BWHK: Tensor, weights_BHWS: Tensor) -> Tensor:  # noqa: ARG002
        """Called with the heads' outputs in a layer, before W^O, and their weights; the result replaces the outputs."""
        return out_BWHK

    def stepped(self, step: SearchStep) -> None:
        """Called after each step."""

    def answered(self, number: int, request: Request, hypotheses: Hypotheses) -> None:
        """Called when a request is finished."""

    def operations(self) -> Operations:
        """The plain operations of a step, followed by `attended`."""

        def history(q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor, kept: LayerCache, rows: Rows) -> Tensor:
            found = history_attention(q_RHK, k_RHK, v_RHK, kept, rows)
            out_BWHK, weights_BWHT = (each.unflatten(0, (len(rows.memory_B), -1)) for each in found)
            return self.attended("decoder", kept.layer, out_BWHK, weights_BWHT.transpose(1, 2)).flatten(0, 1)

        def memory(q_BWHK: Tensor, kept: LayerCache, rows: Rows) -> Tensor:
            return self.attended("cross", kept.layer, *memory_attention(q_BWHK, kept, rows))

        return Operations(attend_history=history, attend_memory=memory)
