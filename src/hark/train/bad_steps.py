"""Stops a run after too many non-finite steps in a row."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import Tensor, stack

from hark.data.batches import Batch
from hark.errors import HarkError
from hark.rundir import RunDir

MAX_UNSEEN = 50
"""Steps after which the loop looks, even if there is nothing to log."""


class DivergedError(HarkError):
    """Training met too many non-finite losses or gradients in a row."""


@dataclass
class BadSteps:
    """The steps at which the loop has not looked yet: looking waits for the device, so it is done for many at once."""

    run: RunDir
    limit: int
    leads: bool
    unseen: list[tuple[int, Tensor, Batch[Any]]] = field(default_factory=list)
    """Number of a step, the count of bad steps in a row up to it (on the device), and its last batch."""

    def add(self, step: int, in_a_row: Tensor, batch: Batch[Any]) -> None:
        self.unseen.append((step, in_a_row, batch))

    def is_due(self) -> bool:
        return len(self.unseen) >= MAX_UNSEEN

    def look(self) -> None:
        """Stop if a step since the last look was one too many. Its batch is saved for inspection."""
        counts = stack([count for _, count, _ in self.unseen]).tolist()
        for (step, _, batch), count in zip(self.unseen, counts, strict=True):
            if count >= self.limit:
                if self.leads:
                    self.save(batch)
                raise DivergedError(
                    f"{self.run.path}: non-finite loss or gradient {self.limit} times in a row, at step {step}; "
                    f"its batch is saved in {self.run.offending}; lower train.rate_scale or set train.clip_norm"
                )
        self.unseen.clear()

    def save(self, batch: Batch[Any]) -> None:
        streams = batch.streams.items()
        arrays = {f"{name}.{part}": array for name, stream in streams for part, array in stream.arrays().items()}
        np.savez(self.run.offending, allow_pickle=False, pairs=batch.pairs, **arrays)
