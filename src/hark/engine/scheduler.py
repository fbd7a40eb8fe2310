"""Admits searches in order as cache memory becomes free. No torch.

Memory is counted in places, one per token. When a search enters, it is allocated those of its source and of an output
of the expected length, contiguously; further ones by the page, as its output grows. If none are free, the engine makes
the search that entered last start again later, with all that it may need. So memory is bounded, long limits cost
nothing, and every search ends. While the next search does not fit, none overtakes it, so that a long sentence waits
only for those before it.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from hark.engine.interface import Intake


class Search(Protocol):
    """A search to schedule: the number of its request, and the memory that it needs from the start."""

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


@dataclass(eq=False, slots=True)
class Entered(Generic[Job]):
    """A running search, the first of its places, and its later pages."""

    job: Job
    start: int
    turn: int
    """How many entered before it."""
    pages: list[tuple[int, int]] = field(default_factory=list)
    """The first place of each, and their number."""


class Scheduler(Generic[Job]):
    """Admits the searches of queued requests, first come, first served."""

    def __init__(self, intake: Intake[list[Job]], places: int, rows: int) -> None:
        self.intake = intake
        self.places, self.rows = Places(places), rows
        self.line: deque[Job] = deque()
        """Waiting searches of requests that have already started."""
        self.running = self.turns = 0

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
            entered.append(Entered(job, start, self.turns))
            self.turns += 1
        return entered

    def grow(self, entered: Entered[Job], count: int) -> int | None:
        """Allocate a further page of `count` places for a running search; return the first, or None if none fits."""
        start = self.places.take(count)
        if start is not None:
            entered.pages.append((start, count))
        return start

    def leave(self, entered: Entered[Job]) -> None:
        """Free the memory of a finished search."""
        for start, count in ((entered.start, entered.job.places), *entered.pages):
            self.places.give_back(start, count)
        self.rows += entered.job.rows
        self.running -= 1

    def put_first(self, jobs: Sequence[Job]) -> None:
        """Queue further searches of a running request before all that are waiting."""
        self.line.extendleft(reversed(jobs))
