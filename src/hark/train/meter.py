"""What is summed up between two records. The sums stay on the device, so that nobody waits for it."""

import time
from typing import Any

import torch
from torch import Tensor

from hark.data.batches import Batch
from hark.train.processes import Processes


class Meter:
    """Sums since the last record: of losses and the tokens that they are of on the device, of tokens on the host."""

    def __init__(self, device: torch.device) -> None:
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)  # loss, nll, target tokens that they are of
        self.counts = [0, 0, 0]  # source tokens, target tokens, target slots
        self.started, self.tokens_then = time.monotonic(), 0

    def add(self, loss: Tensor, nll: Tensor, batch: Batch[Any]) -> None:
        """A loss that is no number is left out, and its tokens with it: such a step changes nothing."""
        tokens = torch.full_like(loss, batch.n_target_tokens, dtype=torch.float64)
        values = torch.stack([loss.detach().double(), nll.double(), tokens])
        self.sums += values.where(loss.detach().isfinite(), 0.0)
        here = (batch.n_source_tokens, batch.n_target_tokens, batch.n_target_slots)
        self.counts = [count + more for count, more in zip(self.counts, here, strict=True)]

    def read(self, processes: Processes) -> tuple[float, float, float, float]:
        """Over all processes: mean loss and nll of a token, fill of the batches, source tokens for a target token."""
        loss, nll, tokens, source, target, slots = processes.total(*self.sums.tolist(), *self.counts)
        tokens = tokens or float("nan")
        return loss / tokens, nll / tokens, target / slots, source / target

    def pace(self, target_tokens: int) -> float:
        """Target tokens a second since the last record."""
        return (target_tokens - self.tokens_then) / max(time.monotonic() - self.started, 1e-9)

    def clear(self, target_tokens: int) -> None:
        self.sums.zero_()
        self.counts = [0, 0, 0]
        self.started, self.tokens_then = time.monotonic(), target_tokens

    def state_dict(self, processes: Processes) -> dict[str, Any]:
        totals = processes.total(*self.sums.tolist(), *self.counts)
        return {"sums": totals[:3], "counts": [int(count) for count in totals[3:]]}

    def load_state_dict(self, state: dict[str, Any], processes: Processes, target_tokens: int) -> None:
        """The leading process takes what all had, so that the sum over processes is right whatever their number."""
        self.clear(target_tokens)
        if processes.leads:
            self.sums.copy_(torch.tensor(state["sums"], dtype=torch.float64))
            self.counts = list(state["counts"])
