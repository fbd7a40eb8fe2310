"""A running mean that forgets."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class RunningMean:
    """A running mean that forgets, without the pull towards zero at its beginning."""

    total: float = 0.0
    weight: float = 0.0

    def add(self, value: float, keep: float) -> "RunningMean":
        """`keep` of what was there stays; a value that is not finite changes nothing."""
        if not math.isfinite(value):
            return self
        return RunningMean(keep * self.total + (1 - keep) * value, keep * self.weight + (1 - keep))

    @property
    def value(self) -> float:
        return self.total / self.weight if self.weight else math.nan
