"""Admits searches in order as cache memory becomes free. No torch.

Memory is counted in places, one per token: a search needs one for each token of its source and for each token that its
hypotheses may have. It is allocated all of them, contiguously, when it enters. So a running search never runs out of
memory, and memory is bounded. While the next search does not fit, none overtakes it, so that a long sentence waits only
for those before it.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from hark.engine.intake import Intake


class Search(Protocol):
    """A search to schedule: the number of its request, and the memory that it needs."""

    @property
    def number(self) -> int: ...
    @property
    def places(self) -> int: ...
    @property
    def rows(self) -> int:
        """Number of live hypotheses: the beam width."""
        ...


Job = TypeVar("Job", bound=Search)


class Places:
    """A best-fit allocator of contiguous runs of places, 0 to `capacity` - 1.

    There may be thousands of gaps, and every sentence allocates and frees: no operation visits all of them in Python.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.by_size: list[tuple[int, int]] = []
        """(size, start) of each gap, sorted; adjacent gaps are merged."""
        self.stop_of: dict[int, int] = {}
        self.start_of: dict[int, int] = {}
        self.open(0, capacity)

    def take(self, count: int) -> int | None:
        """Allocate `count` places and return the first; None if no gap is large enough."""
        number = bisect_left(self.by_size, (count, 0))
        if number == len(self.by_size):
            return None
        size, start = self.by_size[number]
        self.close(start, start + size)
        if size > count:
            self.open(start + count, start + size)
        return start

    def give_back(self, start: int, count: int) -> None:
        stop = start + count
        before, after = self.start_of.get(start), self.stop_of.get(stop)
        if before is not None:
            self.close(before, start)
            start = before
        if after is not None:
            self.close(stop, after)
            stop = after
        self.open(start, stop)

    def open(self, start: int, stop: int) -> None:
        insort(self.by_size, (stop - start, start))
        self.stop_of[start], self.start_of[stop] = stop, start

    def close(self, start: int, stop: int) -> None:
        del self.by_size[bisect_left(self.by_size, (stop - start, start))]
        del self.stop_of[start], self.start_of[stop]

    @property
    def free(self) -> int:
        return sum(size for size, _ in self.by_size)


class Entered(NamedTuple, Generic[Job]):
    """A running search and the first of its places."""

    job: Job
    start: int


class Scheduler(Generic[Job]):
    """Admits the searches of queued requests, first come, first served."""

    def __init__(self, intake: Intake[list[Job]], places: int, rows: int) -> None:
        self.intake = intake
        self.places, self.rows = Places(places), rows
        self.line: deque[Job] = deque()
        """Waiting searches of requests that have already started."""
        self.running = 0

    def enter(self, most: int, fits: Callable[[Job], bool] = lambda _: True) -> list[Entered[Job]]:
        """Admit up to `most` searches that fit now, in order; each keeps its memory until it `leave`s."""
        entered: list[Entered[Job]] = []
        while len(entered) < most and self.rows > 0:
            request = [] if self.line else self.intake.first() or []
            if not self.line and not request:
                break
            job = self.line[0] if self.line else request[0]
            # A search that needs more rows than there are in total runs alone.
            if (job.rows > self.rows and self.running) or not fits(job):
                break
            start = self.places.take(job.places)
            if start is None:
                break
            if not request:
                self.line.popleft()
            elif self.intake.take(job.number):
                self.line.extend(request[1:])
            else:  # cancelled in the meantime
                self.places.give_back(start, job.places)
                continue
            self.rows -= job.rows
            self.running += 1
            entered.append(Entered(job, start))
        return entered

    def leave(self, entered: Entered[Job]) -> None:
        """Free the memory of a finished search."""
        self.places.give_back(entered.start, entered.job.places)
        self.rows += entered.job.rows
        self.running -= 1

    def put_first(self, jobs: Sequence[Job]) -> None:
        """Queue further searches of a running request before all that are waiting."""
        self.line.extendleft(reversed(jobs))
