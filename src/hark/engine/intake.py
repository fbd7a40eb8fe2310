"""A thread-safe priority queue of requests: urgent requests first, without starving bulk ones."""

from collections.abc import Callable
from itertools import chain, count, islice
from threading import Lock
from typing import Generic, TypeVar

from hark.engine.request import BULK_EVERY, Request
from hark.errors import HarkError, UserError

Item = TypeVar("Item")


class Intake(Generic[Item]):
    """A queue of requests, stored as the items that `prepare` makes of them; rejected ones are reported by `changes`.

    The turn advances only when a request is taken. A request that does not fit yet keeps its turn, except that an
    urgent request overtakes a bulk one, unless it is bulk's reserved turn.
    """

    def __init__(self, prepare: Callable[[int, Request], Item]) -> None:
        self._prepare = prepare
        self._numbers = count()
        self._lock = Lock()
        self._urgent: dict[int, Item] = {}
        self._bulk: dict[int, Item] = {}
        self._rejected: list[tuple[int, HarkError]] = []
        self._cancelled: set[int] = set()
        self._passed = 0
        """Turns of urgent requests, while bulk ones waited, since the last one of these."""

    def __len__(self) -> int:
        return len(self._urgent) + len(self._bulk)

    def submit(self, request: Request) -> int:
        number = next(self._numbers)
        try:
            item = self._prepare(number, request)
        except UserError as error:
            with self._lock:
                self._rejected.append((number, error))
        else:
            with self._lock:
                (self._urgent if request.urgent else self._bulk)[number] = item
        return number

    def cancel(self, number: int) -> None:
        with self._lock:
            if self._urgent.pop(number, None) is None and self._bulk.pop(number, None) is None:
                self._cancelled.add(number)

    def changes(self) -> tuple[list[tuple[int, HarkError]], set[int]]:
        """Return the requests rejected, and those cancelled after leaving the queue, since the last call."""
        if not (self._rejected or self._cancelled):
            return [], set()
        with self._lock:
            rejected = [each for each in self._rejected if each[0] not in self._cancelled]
            cancelled, self._rejected, self._cancelled = self._cancelled, [], set()
        return rejected, cancelled

    def first(self) -> Item | None:
        """Return the next request without removing it."""
        with self._lock:
            for item in self._next_queue().values():
                return item
            return None

    def take(self, number: int, *others: int) -> bool:
        """Remove a request, and `others` with it, in one turn; return whether it was still queued."""
        with self._lock:
            self._passed = 0 if number in self._bulk or not self._bulk else self._passed + 1
            item = self._bulk.pop(number, None) or self._urgent.pop(number, None)
            for other in others:
                self._bulk.pop(other, None) or self._urgent.pop(other, None)
        return item is not None

    def peek(self, most: int) -> list[Item]:
        """Return up to `most` queued requests, without removing them, those of the kind whose turn it is first."""
        with self._lock:
            first = self._next_queue()
            other = self._bulk if first is self._urgent else self._urgent
            return list(islice(chain(first.values(), other.values()), most))

    def _next_queue(self) -> dict[int, Item]:
        if self._urgent and self._bulk:
            return self._bulk if self._passed >= BULK_EVERY - 1 else self._urgent
        return self._urgent or self._bulk
