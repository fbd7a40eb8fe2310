"""Hooks into a search: what others may see, and change, while `TorchEngine` decodes. Looking inside is built on them.

Besides the package's legend, numbers are those of requests; -1 stands for a row that is nobody's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from hark.decode.request import Hypotheses, Request
from hark.decode.state import Beams, Candidates, Terms
from hark.model.cache import Kept, Operations, Rows, history_attention, memory_attention


@dataclass(frozen=True, eq=False)
class SearchStep:
    """A step of some searches: what lived before, what there was to choose from, what lives after."""

    before: Beams
    terms: Terms
    logits_BWV: Tensor
    found: Candidates
    after: Beams


class Watch:
    """Hooks that do nothing; a subclass overrides those that it needs. They are called in the thread that steps."""

    numbers: Sequence[int] = ()
    """The request of each of the B sentences of the step under way."""

    def memory(self, number: int, encode: Callable[[], Tensor]) -> Tensor:  # noqa: ARG002
        """The memory of a request's source, (S, D), which `encode` computes."""
        return encode()

    def attended(self, kind: Literal["decoder", "cross"], layer: int, out_BWHK: Tensor, weights_BHWS: Tensor) -> Tensor:  # noqa: ARG002
        """The heads' outputs in one layer, before W^O, and their weights; what is returned takes the outputs' place."""
        return out_BWHK

    def stepped(self, step: SearchStep) -> None:
        """A step was taken, and this was chosen."""

    def answered(self, number: int, request: Request, hypotheses: Hypotheses) -> None:
        """A request is done."""

    def operations(self) -> Operations:
        """The plain operations of a step, with `attended` after them."""

        def history(q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor, kept: Kept, rows: Rows) -> Tensor:
            found = history_attention(q_RHK, k_RHK, v_RHK, kept, rows)
            out_BWHK, weights_BWHT = (each.unflatten(0, (len(rows.memory_B), -1)) for each in found)
            return self.attended("decoder", kept.layer, out_BWHK, weights_BWHT.transpose(1, 2)).flatten(0, 1)

        def memory(q_BWHK: Tensor, kept: Kept, rows: Rows) -> Tensor:
            return self.attended("cross", kept.layer, *memory_attention(q_BWHK, kept, rows))

        return Operations(attend_history=history, attend_memory=memory)
