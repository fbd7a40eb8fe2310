"""Runs many tasks on one engine concurrently.

A task is a generator: it yields requests, receives the answers, may yield more requests, and returns its outcome. So
the handling of one sentence reads from top to bottom in one function, while the engine batches the requests of all
tasks. Many threads may wait for one engine: one of them steps it, the others sleep until there is news (`Turns`).
"""

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from queue import Empty, SimpleQueue
from threading import Lock, RLock, get_ident
from typing import Any, Generic, TypeVar

from hark.engine.interface import Answer, Engine, EngineError, Hypotheses, Hypothesis, Request, ScoreRequest
from hark.errors import HarkError

Outcome = TypeVar("Outcome")
Result = TypeVar("Result")
Task = Generator[Sequence[Request], Sequence[Hypotheses], Outcome]
MAX_RUNNING = 4096
"""Maximum tasks of one group at a time: more than any engine can use, far fewer than the sentences of a huge line."""
AT_ONCE = 64
"""Maximum tasks to start at a time: starting takes a while, during which the tasks of other groups wait."""


@dataclass(eq=False)
class _Group(Generic[Outcome]):
    """Tasks that share one future."""

    rest: Iterator[tuple[Hashable, Task[Outcome]]]
    """Tasks that have not started, with their keys."""
    finish: Callable[[list[Outcome]], Any]
    future: "Future[Any]"
    urgent: bool
    report: Callable[[int, Outcome], object] | None = None
    """Called with the place and the outcome of each task that finishes."""
    outcomes: list[Outcome | None] = field(default_factory=list)
    open: int = 0
    """Tasks that have started and not finished."""
    all_started: bool = False
    pending: set[int] = field(default_factory=set)
    """Requests that the engine has not answered."""


@dataclass(eq=False)
class _Running(Generic[Outcome]):
    """A task that is waiting for answers."""

    task: Task[Outcome]
    group: _Group[Outcome]
    place: int
    key: Hashable = None
    """Tasks with the same key share an outcome; None: not shared."""
    answers: list[Hypotheses] = field(default_factory=list)
    open: int = 0
    followers: "list[_Running[Outcome]]" = field(default_factory=list)
    """Tasks with the same key, which wait for this one instead of repeating its requests."""


CACHED_OUTCOMES = 1 << 10
"""Number of outcomes to cache for later tasks with the same key."""


class Tasks(Generic[Outcome]):
    """Runs tasks on an engine. Any thread may begin and cancel; only one thread at a time may step."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._pending: dict[int, tuple[_Running[Outcome], int]] = {}
        self._to_score: list[tuple[_Running[Outcome], int, ScoreRequest]] = []
        self._leaders: dict[Hashable, _Running[Outcome]] = {}
        self._outcomes: dict[Hashable, Outcome] = {}
        self._unstarted: dict[_Group[Outcome], None] = {}
        """Groups with tasks that have not started, the one that started some longest ago first."""
        self._open: set[_Group[Outcome]] = set()
        """Groups whose futures are not done."""
        self._cancelled: deque[_Group[Outcome]] = deque()
        """Groups whose requests the next step cancels: cancelling a future must not wait for the lock."""
        self._lock = RLock()

    @property
    def room(self) -> int:
        return self.engine.room

    @property
    def pending(self) -> int:
        """The number of requests that the engine has not answered, queued or being decoded."""
        return len(self._pending)

    @property
    def working(self) -> bool:
        """Whether there is anything to do in a step."""
        return bool(self._pending or self._unstarted or self._to_score or self._cancelled)

    def begin(
        self,
        tasks: Iterable[Task[Outcome]],
        finish: Callable[[list[Outcome]], Result],
        urgent: bool = False,
        keys: Iterable[Hashable] | None = None,
        report: Callable[[int, Outcome], object] | None = None,
        future: "Future[Result] | None" = None,
    ) -> "Future[Result]":
        """Start tasks; `finish` turns their outcomes into one result. Cancelling the future cancels them, and never
        waits. `future`: the one to complete, by default a new one.

        The iterable is read lazily, as the engine has room: at most `MAX_RUNNING` tasks run at a time. Of tasks with
        the same key only one runs, and all share its outcome; the key None is never shared. `report` is called with the
        place and the outcome of each task as it finishes, in any order.
        """
        future = Future() if future is None else future
        group = _Group[Outcome](zip(keys or repeat(None), tasks, strict=False), finish, future, urgent, report)
        self._open.add(group)
        # Without a reference to the engine: a future and its callbacks are a cycle with the group, also when done.
        future.add_done_callback(partial(close, group, self._open, self._cancelled))
        try:
            with self._lock:
                self._start_more(group, AT_ONCE)
        except BaseException as error:  # Ctrl-C, too: other tasks must not wait for these
            with self._lock:
                self._fail(group, error)
            raise
        return future

    def _start(self, running: _Running[Outcome]) -> None:
        """Run a task, or make it wait for one with the same key."""
        key = running.key
        if key is not None and key in self._outcomes:
            self._finish(running, self._outcomes[key])
        elif key is not None and key in self._leaders:
            self._leaders[key].followers.append(running)
        else:
            if key is not None:
                self._leaders[key] = running
            self._advance(running, None)

    def _finish(self, running: _Running[Outcome], outcome: Outcome) -> None:
        """Record the outcome of a task."""
        group = running.group
        if group.future.done():  # cancelled, or another task failed
            return
        group.outcomes[running.place] = outcome
        group.open -= 1
        if group.report is not None:
            group.report(running.place, outcome)

    def step(self) -> bool:
        """Start tasks, step the engine and resume the tasks that have all their answers; return whether there were any.

        If it raises, the engine is in an unknown state, and all open futures fail: other threads may wait for them.
        """
        try:
            return self.advance()
        except BaseException as error:
            failure = f"the engine failed: {type(error).__name__}: {error}"
            if isinstance(error, KeyboardInterrupt):
                failure = "interrupted in another thread"
            with self._lock:
                for group in list(self._open):
                    self._fail(group, EngineError(failure))
            raise

    def advance(self) -> bool:
        """Step as `step` does, but leave it to the caller to fail the open futures if it raises."""
        answered = False
        while self._cancelled:
            self._abandon(self._cancelled.popleft())
        if self._unstarted:
            with self._lock:
                group = next(iter(self._unstarted), None)
                if group is not None and (self.engine.room > 0 or not group.open):
                    self._start_more(group, AT_ONCE)
        for number, answer in self.engine.step():
            answered = True
            with self._lock:
                self._receive(number, answer)
        while self._to_score:  # requests follow from answers, so none is left for the next step
            self._score()
        return answered

    def _score(self) -> None:
        """Score all translations that tasks want to have scored, in one batch."""
        wanted, self._to_score = self._to_score, []
        wanted = [each for each in wanted if not each[0].group.future.done()]
        fitting = [self.engine.fits(request.source, request.translation) for *_, request in wanted]
        pairs = (
            (request.source, request.translation) for (*_, request), fits in zip(wanted, fitting, strict=True) if fits
        )
        scores = self.engine.score(pairs)
        for (running, place, request), fits in zip(wanted, fitting, strict=True):
            scored: Hypotheses = ()
            if fits:
                log_probs = next(scores)
                total = sum(log_probs)
                scored = (Hypothesis((*request.translation,), total, total, complete=True, log_probs=log_probs),)
            with self._lock:
                self._answer(running, place, scored)

    def _start_more(self, group: _Group[Outcome], most: int) -> None:
        """Start up to `most` tasks of a group; conclude the group after its last."""
        self._unstarted.pop(group, None)
        for _ in range(most):
            if group.all_started or group.open >= MAX_RUNNING or group.future.done():
                break
            keyed = next(group.rest, None)
            if keyed is None:
                group.all_started = True
                break
            group.outcomes.append(None)
            group.open += 1
            key, task = keyed
            self._start(_Running(task, group, len(group.outcomes) - 1, key))
        if group.future.done():
            return
        if not group.all_started:
            self._unstarted[group] = None
        elif not group.open:
            self._conclude(group)

    def _advance(self, running: _Running[Outcome], answers: Sequence[Hypotheses] | None) -> None:
        """Send a task its answers and submit its next requests."""
        group = running.group
        try:
            requests = running.task.send(answers)  # type: ignore[arg-type]  # None starts a generator
            while not requests:
                requests = running.task.send(())
        except StopIteration as end:
            if running.key is not None:
                self._leaders.pop(running.key, None)
                if len(self._outcomes) >= CACHED_OUTCOMES:
                    self._outcomes.clear()
                self._outcomes[running.key] = end.value
            for each in (running, *running.followers):
                self._finish(each, end.value)
            for other in {each.group for each in running.followers} - {group}:
                self._start_more(other, 1)
            return
        except Exception as error:  # fails one text only; the others continue
            self._fail(group, error)
            return
        running.answers, running.open = [()] * len(requests), len(requests)
        for place, request in enumerate(requests):
            if isinstance(request, ScoreRequest):
                self._to_score.append((running, place, request))
                continue
            number = self.engine.submit(replace(request, urgent=True) if group.urgent else request)
            self._pending[number] = running, place
            group.pending.add(number)

    def _receive(self, number: int, answer: Answer) -> None:
        running, place = self._pending.pop(number, (None, 0))
        if running is None:  # cancelled while it was being answered
            return
        running.group.pending.discard(number)
        if running.group.future.done():  # cancelled during this step
            return
        if isinstance(answer, HarkError):
            self._fail(running.group, answer)
            return
        self._answer(running, place, answer)

    def _answer(self, running: _Running[Outcome], place: int, answer: Hypotheses) -> None:
        running.answers[place] = answer
        running.open -= 1
        if not running.open:
            self._advance(running, running.answers)
            self._start_more(running.group, 1)

    def _conclude(self, group: _Group[Outcome]) -> None:
        try:
            result = group.finish([each for each in group.outcomes if each is not None])
        except Exception as error:
            self._fail(group, error)
            return
        with suppress(InvalidStateError):  # cancelled at this moment
            group.future.set_result(result)

    def _fail(self, group: _Group[Outcome], error: BaseException) -> None:
        if not group.future.done():
            self._abandon(group)
            fail(group.future, error)

    def _abandon(self, group: _Group[Outcome]) -> None:
        """Cancel a group's pending requests; tasks of other groups that wait for one of its tasks run on their own."""
        with self._lock:
            for number in group.pending:
                self.engine.cancel(number)
                self._pending.pop(number, None)
            group.pending.clear()
            self._unstarted.pop(group, None)
            led = [key for key, leader in self._leaders.items() if leader.group is group]
            orphans = [each for key in led for each in self._leaders.pop(key).followers if each.group is not group]
            for orphan in orphans:
                if not orphan.group.future.done():
                    self._start(orphan)
                    self._start_more(orphan.group, 1)


def fail(future: "Future[Any]", error: BaseException) -> None:
    """Complete a future with an error, unless it is done."""
    with suppress(InvalidStateError):
        future.set_exception(error)


def close(
    group: _Group[Outcome], opened: set[_Group[Outcome]], cancelled: deque[_Group[Outcome]], done: "Future[Any]"
) -> None:
    """Note that the future of a group is done."""
    opened.discard(group)
    if done.cancelled():
        cancelled.append(group)


NAP = 1.0
"""Maximum seconds of sleep: Ctrl-C may stop a thread just before it wakes the others."""


class Turns:
    """Calls `step` in the threads that wait for what it does, in one at a time.

    Ctrl-C may raise at almost any point of the main thread. So a turn is taken and given back by single operations of
    the interpreter, and nobody waits for a lock that is held during a step.
    """

    def __init__(self, step: Callable[[], bool]) -> None:
        """`step` returns whether there is news for other threads."""
        self._step = step
        self._lock = Lock()
        self._stepping: set[int] = set()
        """The thread that is stepping, if any."""
        self._bells: set[SimpleQueue[None]] = set()
        """One for each thread that waits, to wake it."""

    def until(self, enough: Callable[[], bool]) -> None:
        """Step, or sleep while another thread steps, until it is enough."""
        bell: SimpleQueue[None] = SimpleQueue()
        stepped = False
        try:
            self._bells.add(bell)
            while not enough():
                stepped = True
                if not self._take_turn():
                    stepped = False
                    with suppress(Empty):
                        bell.get(timeout=NAP)
        finally:
            self._bells.discard(bell)
            if stepped:  # somebody else must step now
                self._ring()

    def once(self) -> None:
        """Step once; while another thread steps, sleep until there is news."""
        calls = iter((False, True))
        self.until(lambda: next(calls))

    def _take_turn(self) -> bool:
        """Step unless another thread does; return whether it did."""
        me = get_ident()
        if me in self._stepping:  # called by something that the step has called
            self._step()
            return True
        news = False
        try:
            with self._lock:
                if not self._stepping:
                    self._stepping.add(me)
            if me not in self._stepping:
                return False
            news = self._step()
        finally:
            self._stepping.discard(me)
        if news:
            self._ring()
        return True

    def _ring(self) -> None:
        for bell in list(self._bells):
            if bell.empty():
                bell.put(None)
