"""Many small conversations with one engine at a time, in order and in constant memory.

A task is a generator: it yields the requests that it wants answered, is sent the answers, may ask again, and returns
its outcome. So what is done with a sentence reads from top to bottom in one function, while an engine sees one stream
of requests and always has enough of them.
"""

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from hark.decode.request import Engine, Hypothesis, Request

Outcome = TypeVar("Outcome")
Answer = tuple[Hypothesis, ...]
Task = Generator[Sequence[Request], Sequence[Answer], Outcome]

WINDOW = 1 << 14
"""Tasks under way, or done and waiting for an earlier one, beyond which none is begun."""


@dataclass
class _Group(Generic[Outcome]):
    """Tasks whose outcomes are given together."""

    outcomes: list[Outcome | None]
    open: int


@dataclass
class _Running(Generic[Outcome]):
    """A task that waits for answers."""

    task: Task[Outcome]
    group: _Group[Outcome]
    place: int
    answers: list[Answer] = field(default_factory=list)
    open: int = 0


class Stream(Generic[Outcome]):
    """Runs groups of tasks through an engine."""

    def __init__(self, engine: Engine, groups: Iterable[Sequence[Task[Outcome]] | None], window: int = WINDOW) -> None:
        self.engine, self.window = engine, window
        self._groups = iter(groups)
        self._begun: deque[_Group[Outcome]] = deque()
        self._waiting: deque[tuple[_Running[Outcome], int, Request]] = deque()
        self._asked: dict[int, tuple[_Running[Outcome], int]] = {}
        self._load = 0
        self._ended = False
        self._error: Exception | None = None

    def run(self) -> Iterator[list[Outcome]]:
        """The outcomes of each group, in the order of groups.

        An error of the iterable that gives the groups is raised after the outcomes of all that came before it.
        """
        while not (self._ended and not self._begun):
            for number, answer in self.engine.run(self._requests()):
                self._receive(number, answer)
                yield from self._finished()
            yield from self._finished()
        if self._error is not None:
            raise self._error

    def _requests(self) -> Iterator[Request | None]:
        """What the engine is given. It ends where the engine has nothing to do and something can be handed out."""
        number = 0
        self._asked.clear()
        while True:
            while not self._waiting and self._load < self.window and self._admit():
                pass
            if self._waiting:
                running, place, request = self._waiting.popleft()
                self._asked[number] = (running, place)
                number += 1
                yield request
            elif self._asked:
                yield None
            elif self._ended or self._begun:
                return

    def _admit(self) -> bool:
        """Begin the tasks of the next group; whether there was one to be had just now."""
        if self._ended:
            return False
        try:
            tasks = next(self._groups)
        except StopIteration:
            self._ended = True
            return False
        except Exception as error:
            self._ended, self._error = True, error
            return False
        if tasks is None:
            return False
        group = _Group[Outcome]([None] * len(tasks), len(tasks))
        self._begun.append(group)
        self._load += len(tasks) + 1
        for place, task in enumerate(tasks):
            self._advance(_Running(task, group, place), None)
        return True

    def _advance(self, running: _Running[Outcome], answers: Sequence[Answer] | None) -> None:
        """Give a task its answers, and queue what it asks next."""
        try:
            requests = running.task.send(answers)  # type: ignore[arg-type]  # None starts a generator
            while not requests:
                requests = running.task.send(())
        except StopIteration as end:
            running.group.outcomes[running.place] = end.value
            running.group.open -= 1
            return
        running.answers, running.open = [()] * len(requests), len(requests)
        self._waiting.extend((running, place, request) for place, request in enumerate(requests))

    def _receive(self, number: int, answer: Answer) -> None:
        running, place = self._asked.pop(number)
        running.answers[place] = answer
        running.open -= 1
        if not running.open:
            self._advance(running, running.answers)

    def _finished(self) -> Iterator[list[Outcome]]:
        while self._begun and not self._begun[0].open:
            group = self._begun.popleft()
            self._load -= len(group.outcomes) + 1
            yield [outcome for outcome in group.outcomes if outcome is not None]
