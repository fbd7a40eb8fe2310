"""An estimate of what each worker still has to do, so that all of them can finish together."""

from heapq import heapreplace
from itertools import islice


class Workload:
    """The batches that workers have or wait for, in order.

    Time is counted in work, since all workers are about equally fast: a batch takes as long as it has work, and a batch
    that ends tells how far the others must be. So no clock is read, and errors do not add up.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._now = 0.0
        self._work: dict[int, float] = {}
        self._begun: dict[int, float] = {}

    def __bool__(self) -> bool:
        """Whether there are unfinished batches."""
        return bool(self._work)

    def start(self, batch: int, work: float) -> None:
        """Add a batch, identified by any number."""
        self._work[batch] = work
        self._begin()

    def finish(self, batch: int) -> None:
        """Remove a batch that has ended. A worker takes the next one."""
        work = self._work.pop(batch)
        self._now = max(self._now, self._begun.pop(batch, self._now) + work)
        self._begin()

    def share(self, waiting: float) -> float:
        """Return how much of the waiting work the next free worker should do, so that all workers finish together."""
        loads = [0.0] * self.workers
        for batch, work in self._work.items():
            heapreplace(loads, loads[0] + self._left(batch, work))
        loads.sort()
        # A worker that has more to do than the others can do meanwhile gets nothing: the least mean is without those.
        end = min((waiting + sum(loads[:count])) / count for count in range(1, self.workers + 1))
        return end - loads[0]

    def _begin(self) -> None:
        for batch in islice(self._work, self.workers):
            self._begun.setdefault(batch, self._now)

    def _left(self, batch: int, work: float) -> float:
        return max(0.0, self._begun.get(batch, self._now) + work - self._now)
