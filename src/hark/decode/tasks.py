"""Many small conversations with one engine, side by side.

A task is a generator: it yields the requests that it wants answered, is sent the answers, may ask again, and returns
its outcome. So what is done with a sentence reads from top to bottom in one function, while the engine has the requests
of all tasks to choose from.
"""

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import repeat
from threading import RLock
from typing import Any, Generic, TypeVar

from hark.decode.engine import Engine
from hark.decode.request import Answer, Hypotheses, Request
from hark.errors import HarkError

Outcome = TypeVar("Outcome")
Result = TypeVar("Result")
Task = Generator[Sequence[Request], Sequence[Hypotheses], Outcome]
UNDER_WAY = 4096
"""Tasks of one group at a time: more than any engine can use, and few beside the sentences of a line of megabytes."""


@dataclass(eq=False)
class _Group(Generic[Outcome]):
    """Tasks that have one result."""

    rest: Iterator[tuple[Hashable, Task[Outcome]]]
    """Those that are not begun yet, with their keys."""
    finish: Callable[[list[Outcome]], Any]
    future: "Future[Any]"
    urgent: bool
    outcomes: list[Outcome | None] = field(default_factory=list)
    open: int = 0
    """Tasks that are begun and not done."""
    all_begun: bool = False
    asked: set[int] = field(default_factory=set)
    """Its requests that the engine has not answered."""


@dataclass(eq=False)
class _Running(Generic[Outcome]):
    """A task that waits for answers."""

    task: Task[Outcome]
    group: _Group[Outcome]
    place: int
    key: Hashable = None
    """Tasks with the same key have the same outcome; None: no other has."""
    answers: list[Hypotheses] = field(default_factory=list)
    open: int = 0
    followers: "list[_Running[Outcome]]" = field(default_factory=list)
    """Tasks of the same key, which wait for this one instead of asking the engine the same."""


REMEMBERED = 1 << 10
"""Outcomes that are kept, so that what is repeated later is not asked again."""


class Tasks(Generic[Outcome]):
    """Runs tasks on an engine. Any thread may begin and cancel; one thread at a time steps."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._asked: dict[int, tuple[_Running[Outcome], int]] = {}
        self._leaders: dict[Hashable, _Running[Outcome]] = {}
        self._outcomes: dict[Hashable, Outcome] = {}
        self._lock = RLock()

    @property
    def room(self) -> int:
        return self.engine.room

    def begin(
        self,
        tasks: Iterable[Task[Outcome]],
        finish: Callable[[list[Outcome]], Result],
        urgent: bool = False,
        keys: Iterable[Hashable] | None = None,
    ) -> "Future[Result]":
        """Begin tasks; in the end `finish` makes one result of their outcomes. Cancelling the future cancels them.

        Of many, the last are taken from the iterable when the first are done. Of tasks with the same key one is run,
        and all have its outcome; None is no key.
        """
        future: Future[Result] = Future()
        group = _Group[Outcome](zip(keys or repeat(None), tasks, strict=False), finish, future, urgent)
        future.add_done_callback(lambda done: self._abandon(group) if done.cancelled() else None)
        with self._lock:
            self._go_on(group)
        return future

    def _start(self, running: _Running[Outcome]) -> None:
        """Run a task, or have it wait for one of the same key."""
        key = running.key
        if key is not None and key in self._outcomes:
            self._end(running, self._outcomes[key])
        elif key is not None and key in self._leaders:
            self._leaders[key].followers.append(running)
        else:
            if key is not None:
                self._leaders[key] = running
            self._advance(running, None)

    def _end(self, running: _Running[Outcome], outcome: Outcome) -> None:
        """A task has its outcome."""
        group = running.group
        if group.future.done():  # cancelled, or failed through another task
            return
        group.outcomes[running.place] = outcome
        group.open -= 1

    def step(self) -> None:
        """Let the engine go on, and the tasks whose answers are there."""
        for number, answer in self.engine.step():
            with self._lock:
                self._receive(number, answer)

    def _go_on(self, group: _Group[Outcome]) -> None:
        """Begin as many tasks of a group as may be under way; conclude it after its last."""
        while not group.all_begun and group.open < UNDER_WAY and not group.future.done():
            begun = next(group.rest, None)
            if begun is None:
                group.all_begun = True
                break
            group.outcomes.append(None)
            group.open += 1
            key, task = begun
            self._start(_Running(task, group, len(group.outcomes) - 1, key))
        if group.all_begun and not group.open and not group.future.done():
            self._conclude(group)

    def _advance(self, running: _Running[Outcome], answers: Sequence[Hypotheses] | None) -> None:
        """Give a task its answers, and submit what it asks next."""
        group = running.group
        try:
            requests = running.task.send(answers)  # type: ignore[arg-type]  # None starts a generator
            while not requests:
                requests = running.task.send(())
        except StopIteration as end:
            if running.key is not None:
                self._leaders.pop(running.key, None)
                if len(self._outcomes) >= REMEMBERED:
                    self._outcomes.clear()
                self._outcomes[running.key] = end.value
            for each in (running, *running.followers):
                self._end(each, end.value)
            for other in {each.group for each in running.followers} - {group}:
                self._go_on(other)
            return
        except Exception as error:  # of one text: the others go on
            self._fail(group, error)
            return
        running.answers, running.open = [()] * len(requests), len(requests)
        for place, request in enumerate(requests):
            number = self.engine.submit(replace(request, urgent=True) if group.urgent else request)
            self._asked[number] = running, place
            group.asked.add(number)

    def _receive(self, number: int, answer: Answer) -> None:
        running, place = self._asked.pop(number, (None, 0))
        if running is None:  # it was cancelled while it was answered
            return
        running.group.asked.discard(number)
        if isinstance(answer, HarkError):
            self._fail(running.group, answer)
            return
        running.answers[place] = answer
        running.open -= 1
        if not running.open:
            self._advance(running, running.answers)
            self._go_on(running.group)

    def _conclude(self, group: _Group[Outcome]) -> None:
        try:
            result = group.finish([each for each in group.outcomes if each is not None])
        except Exception as error:
            self._fail(group, error)
            return
        if group.future.set_running_or_notify_cancel():
            group.future.set_result(result)

    def _fail(self, group: _Group[Outcome], error: Exception) -> None:
        if not group.future.done() and group.future.set_running_or_notify_cancel():
            self._abandon(group)
            group.future.set_exception(error)

    def _abandon(self, group: _Group[Outcome]) -> None:
        """Cancel what a group still asks. Tasks of others that wait for one of its tasks begin by themselves."""
        with self._lock:
            for number in group.asked:
                self.engine.cancel(number)
                self._asked.pop(number, None)
            group.asked.clear()
            led = [key for key, leader in self._leaders.items() if leader.group is group]
            orphans = [each for key in led for each in self._leaders.pop(key).followers if each.group is not group]
            for orphan in orphans:
                if not orphan.group.future.done():
                    self._start(orphan)
                    self._go_on(orphan.group)
