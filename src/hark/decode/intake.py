"""Requests on their way into an engine, from any number of threads: urgent ones first, and bulk never starves."""

from collections.abc import Callable
from itertools import chain, count, islice
from threading import Lock
from typing import Generic, TypeVar

from hark.decode.request import Request
from hark.errors import HarkError, UserError

Item = TypeVar("Item")

BULK_EVERY = 8
"""While both kinds wait, every eighth turn is bulk's."""


class Intake(Generic[Item]):
    """Waiting requests, each as the item that `prepare` makes of it; what `prepare` refuses is answered with its error.

    A turn is for whoever enters next. It passes only when it is taken: who does not fit yet is passed by nobody, except
    that an urgent request goes before bulk whose turn was not forced.
    """

    def __init__(self, prepare: Callable[[int, Request], Item]) -> None:
        self._prepare = prepare
        self._numbers = count()
        self._lock = Lock()
        self._urgent: dict[int, Item] = {}
        self._bulk: dict[int, Item] = {}
        self._refused: list[tuple[int, HarkError]] = []
        self._cancelled: set[int] = set()
        self._turns = 0

    def __len__(self) -> int:
        return len(self._urgent) + len(self._bulk)

    def submit(self, request: Request) -> int:
        number = next(self._numbers)
        try:
            item = self._prepare(number, request)
        except UserError as error:
            with self._lock:
                self._refused.append((number, error))
        else:
            with self._lock:
                (self._urgent if request.urgent else self._bulk)[number] = item
        return number

    def cancel(self, number: int) -> None:
        with self._lock:
            if self._urgent.pop(number, None) is None and self._bulk.pop(number, None) is None:
                self._cancelled.add(number)

    def changes(self) -> tuple[list[tuple[int, HarkError]], set[int]]:
        """What was refused, and what was cancelled after it had left the queue, since this was last asked."""
        if not (self._refused or self._cancelled):
            return [], set()
        with self._lock:
            refused = [each for each in self._refused if each[0] not in self._cancelled]
            cancelled, self._refused, self._cancelled = self._cancelled, [], set()
        return refused, cancelled

    def first(self) -> Item | None:
        """Whose turn it is."""
        with self._lock:
            for item in (self._next_queue() if self._urgent else self._bulk).values():
                return item
            return None

    def take(self, number: int, *others: int) -> bool:
        """Let one leave the queue, and others together with it, in one turn; whether it was still there."""
        with self._lock:
            self._turns += 1
            item = self._bulk.pop(number, None) or self._urgent.pop(number, None)
            for other in others:
                self._bulk.pop(other, None) or self._urgent.pop(other, None)
        return item is not None

    def peek(self, most: int) -> list[Item]:
        """Those who wait, urgent ones first, as many as are wanted."""
        with self._lock:
            return list(islice(chain(self._urgent.values(), self._bulk.values()), most))

    def _next_queue(self) -> dict[int, Item]:
        if self._urgent and self._bulk:
            return self._bulk if self._turns % BULK_EVERY == BULK_EVERY - 1 else self._urgent
        return self._urgent or self._bulk
