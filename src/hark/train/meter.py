"""Sums of loss and token counts between two records. Loss sums stay on the device, so that nothing waits for it."""

import time
from typing import Any

import torch
from torch import Tensor

from hark.data.batches import Batch
from hark.train.processes import Processes


class Meter:
    """Sums since the last record: losses with their token counts on the device, other token counts on the host."""

    def __init__(self, device: torch.device) -> None:
        # Loss, NLL, and the number of target tokens that these two cover.
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)
        self.counts = [0, 0, 0]  # source tokens, target tokens, target slots
        self.started, self.tokens_before = time.monotonic(), 0

    def add(self, loss: Tensor, nll: Tensor, batch: Batch[Any]) -> None:
        """Add a batch. A non-finite loss and its tokens are left out, since such a step is skipped."""
        tokens = torch.full_like(loss, batch.n_target_tokens, dtype=torch.float64)
        values = torch.stack([loss.detach().double(), nll.double(), tokens])
        self.sums += values.where(loss.detach().isfinite(), 0.0)
        here = (batch.n_source_tokens, batch.n_target_tokens, batch.n_target_slots)
        self.counts = [count + more for count, more in zip(self.counts, here, strict=True)]

    def read(self, processes: Processes) -> tuple[float, float, float, float]:
        """Over all processes: mean loss and NLL per token, fill of the batches, source tokens per target token."""
        loss, nll, tokens, source, target, slots = processes.total(*self.sums.tolist(), *self.counts)
        tokens = tokens or float("nan")
        return loss / tokens, nll / tokens, target / slots, source / target

    def throughput(self, target_tokens: int) -> float:
        """Target tokens per second since the last record."""
        return (target_tokens - self.tokens_before) / max(time.monotonic() - self.started, 1e-9)

    def clear(self, target_tokens: int) -> None:
        self.sums.zero_()
        self.counts = [0, 0, 0]
        self.started, self.tokens_before = time.monotonic(), target_tokens

    def state_dict(self, processes: Processes) -> dict[str, Any]:
        totals = processes.total(*self.sums.tolist(), *self.counts)
        return {"sums": totals[:3], "counts": [int(count) for count in totals[3:]]}

    def load_state_dict(self, state: dict[str, Any], processes: Processes, target_tokens: int) -> None:
        """Restore the sums. The leading process takes the totals of all processes, whatever their number was."""
        self.clear(target_tokens)
        if processes.leads:
            self.sums.copy_(torch.tensor(state["sums"], dtype=torch.float64))
            self.counts = list(state["counts"])
