"""Who is decoded when: sentences wait in a line, and enter when there is room. No torch.

Room is counted in tokens: a search needs a place for each token of its source and for each that its hypotheses may come
to have, and it is given all of them when it enters, side by side. So nothing that has entered can run out of room, and
memory is bounded. While the one whose turn it is does not fit, nobody passes it, so that a long sentence waits only for
those before it.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from hark.decode.intake import Intake


class Search(Protocol):
    """What enters: it knows the request that it belongs to and what it needs."""

    @property
    def number(self) -> int: ...
    @property
    def places(self) -> int: ...
    @property
    def rows(self) -> int:
        """Hypotheses that live at a time."""
        ...


Job = TypeVar("Job", bound=Search)


class Places:
    """Places 0 to `capacity` - 1, given out in runs: each from the smallest gap that is large enough.

    Thousands of searches make thousands of gaps, and one comes and goes with every sentence: none of this walks
    through them all.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.by_size: list[tuple[int, int]] = []
        """Size and start of each gap, in order; no two touch."""
        self.stop_of: dict[int, int] = {}
        self.start_of: dict[int, int] = {}
        self.open(0, capacity)

    def take(self, count: int) -> int | None:
        """The first of `count` places, or None while there is no such gap."""
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
    """A search that has entered, and the first of its places."""

    job: Job
    start: int


class Scheduler(Generic[Job]):
    """A line of searches, fed from the requests that wait, each as the searches that it needs to begin with."""

    def __init__(self, intake: Intake[list[Job]], places: int, rows: int) -> None:
        self.intake = intake
        self.places, self.rows = Places(places), rows
        self.line: deque[Job] = deque()
        """Searches of requests that have begun."""
        self.running = 0

    def enter(self, most: int, fits: Callable[[Job], bool] = lambda _: True) -> list[Entered[Job]]:
        """Those that can enter now, in their turn; their room is theirs until they `leave`."""
        entered: list[Entered[Job]] = []
        while len(entered) < most and self.rows > 0:
            request = [] if self.line else self.intake.first() or []
            if not self.line and not request:
                break
            job = self.line[0] if self.line else request[0]
            # A search with more rows than there are in all may enter alone.
            if (job.rows > self.rows and self.running) or not fits(job):
                break
            start = self.places.take(job.places)
            if start is None:
                break
            if not request:
                self.line.popleft()
            elif self.intake.take(job.number):
                self.line.extend(request[1:])
            else:  # it was cancelled this very moment
                self.places.give_back(start, job.places)
                continue
            self.rows -= job.rows
            self.running += 1
            entered.append(Entered(job, start))
        return entered

    def leave(self, entered: Entered[Job]) -> None:
        """Its room is free again."""
        self.places.give_back(entered.start, entered.job.places)
        self.rows += entered.job.rows
        self.running -= 1

    def put_first(self, jobs: Sequence[Job]) -> None:
        """What a request turned out to need besides: it came before all who wait."""
        self.line.extendleft(reversed(jobs))
