"""Who is decoded when: sentences wait in a line, and enter when there is room. No torch.

Room is counted in tokens: a search needs a place for each token of its source and for each that its hypotheses may come
to have, and it is given all of them when it enters, side by side. So nothing that has entered can run out of room, and
memory is bounded. First come, first served: while the first in the line does not fit, nobody passes it, so that a long
sentence waits only for those before it.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from hark.errors import UserError

Job = TypeVar("Job")
Item = TypeVar("Item")


class Size(NamedTuple):
    """What a search needs."""

    places: int
    rows: int
    """Hypotheses that live at a time."""


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
    size: Size
    start: int


class Scheduler(Generic[Item, Job]):
    """A line of searches, fed by requests that are taken one at a time, when the line is empty and there may be room.

    A request may need several searches; `searches` says which. `size` says what a search needs.
    """

    def __init__(
        self,
        requests: Iterable[Item | None],
        searches: Callable[[int, Item], Iterable[Job]],
        size: Callable[[Job], Size],
        places: int,
        rows: int,
    ) -> None:
        self.requests = enumerate_items(requests)
        self.searches, self.size = searches, size
        self.places, self.rows = Places(places), rows
        self.line: deque[Job] = deque()
        self.running = 0
        self.ended = False
        """Whether the requests have come to their end."""

    @property
    def idle(self) -> bool:
        """Nothing runs, nothing waits, nothing will come."""
        return self.ended and not self.running and not self.line

    def enter(self, most: int | None = None) -> list[Entered[Job]]:
        """All that can enter now, or the first of them; their room is theirs until they `leave`."""
        entered: list[Entered[Job]] = []
        while (most is None or len(entered) < most) and self.rows > 0 and self.fill():
            size = self.size(self.line[0])
            if size.places > self.places.capacity:
                raise UserError(
                    f"a sentence needs room for {size.places} tokens, and there is room for {self.places.capacity}; "
                    "split it, or use a smaller beam"
                )
            # A search with more rows than there are in all may enter alone.
            if size.rows > self.rows and self.running:
                break
            start = self.places.take(size.places)
            if start is None:
                break
            self.rows -= size.rows
            self.running += 1
            entered.append(Entered(self.line.popleft(), size, start))
        return entered

    def fill(self) -> bool:
        """Whether somebody waits, after the next request was asked for if need be."""
        while not self.line and not self.ended:
            try:
                number, request = next(self.requests)
            except StopIteration:
                self.ended = True
                break
            if request is None:
                break
            self.line.extend(self.searches(number, request))
        return bool(self.line)

    def leave(self, entered: Entered[Job]) -> None:
        """Its room is free again."""
        self.places.give_back(entered.start, entered.size.places)
        self.rows += entered.size.rows
        self.running -= 1

    def put_first(self, jobs: Sequence[Job]) -> None:
        """What a request turned out to need besides: it came before all who wait."""
        self.line.extendleft(reversed(jobs))


def enumerate_items(requests: Iterable[Item | None]) -> Iterator[tuple[int, Item | None]]:
    """Requests with their numbers; None, that nothing is waiting just now, has none."""
    number = 0
    for request in requests:
        yield number, request
        number += request is not None
