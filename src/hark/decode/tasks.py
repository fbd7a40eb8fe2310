"""Many small conversations with one engine, side by side.

A task is a generator: it yields the requests that it wants answered, is sent the answers, may ask again, and returns
its outcome. So what is done with a sentence reads from top to bottom in one function, while the engine has the requests
of all tasks to choose from.
"""

from collections.abc import Callable, Generator, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, Generic, TypeVar

from hark.decode.engine import Engine
from hark.decode.request import Answer, Hypotheses, Request
from hark.errors import HarkError

Outcome = TypeVar("Outcome")
Result = TypeVar("Result")
Task = Generator[Sequence[Request], Sequence[Hypotheses], Outcome]


@dataclass(eq=False)
class _Group(Generic[Outcome]):
    """Tasks that have one result."""

    outcomes: list[Outcome | None]
    open: int
    finish: Callable[[list[Outcome]], Any]
    future: "Future[Any]"
    urgent: bool
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


REMEMBERED = 1 << 13
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
        tasks: Sequence[Task[Outcome]],
        finish: Callable[[list[Outcome]], Result],
        urgent: bool = False,
        keys: Sequence[Hashable] | None = None,
    ) -> "Future[Result]":
        """Begin tasks; in the end `finish` makes one result of their outcomes. Cancelling the future cancels them.

        Of tasks with the same key one is run, and all have its outcome; None is no key.
        """
        future: Future[Result] = Future()
        group = _Group[Outcome]([None] * len(tasks), len(tasks), finish, future, urgent)
        future.add_done_callback(lambda done: self._abandon(group) if done.cancelled() else None)
        with self._lock:
            for place, (task, key) in enumerate(zip(tasks, keys or [None] * len(tasks), strict=True)):
                self._start(_Running(task, group, place, key))
            if not tasks:
                self._conclude(group)
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
        if not group.open:
            self._conclude(group)

    def step(self) -> None:
        """Let the engine go on, and the tasks whose answers are there."""
        for number, answer in self.engine.step():
            with self._lock:
                self._receive(number, answer)

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
