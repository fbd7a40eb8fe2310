"""An exponential moving average."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class RunningMean:
    """An exponential moving average with bias correction."""

    total: float = 0.0
    weight: float = 0.0

    def add(self, value: float, keep: float) -> "RunningMean":
        """Add a value, with `keep` as the decay. Ignore NaN and infinity."""
        if not math.isfinite(value):
            return self
        return RunningMean(keep * self.total + (1 - keep) * value, keep * self.weight + (1 - keep))

    @property
    def value(self) -> float:
        return self.total / self.weight if self.weight else math.nan
