"""Limits the requests per minute of each client, by key or address."""

import math
import time
from collections.abc import Callable

MOST_CLIENTS = 10_000
"""Clients to remember; more than that forget the one that was quiet longest, which bounds memory."""


class Rates:
    """A bucket for each client, which refills steadily: a minute's requests may come at once, then they are spread."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`per_minute` 0: no limit."""
        self._per_minute, self._clock = per_minute, clock
        self._buckets: dict[str, tuple[float, float]] = {}
        """By client, the requests that it may still send and when that was so; the one quiet longest first."""

    def take(self, client: str) -> int:
        """Count a request. Return 0 if it is allowed, otherwise the seconds to wait."""
        if not self._per_minute:
            return 0
        now = self._clock()
        left, since = self._buckets.pop(client, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - since) * self._per_minute / 60)
        allowed = left >= 1.0
        self._buckets[client] = (left - 1.0 if allowed else left), now
        if len(self._buckets) > MOST_CLIENTS:
            del self._buckets[next(iter(self._buckets))]
        return 0 if allowed else max(1, math.ceil((1.0 - left) * 60 / self._per_minute))
