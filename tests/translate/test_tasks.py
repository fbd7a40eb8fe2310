"""Tasks on an engine: each gets its own answers, may submit again, fails on its own, and can be cancelled."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from threading import Event, Thread, get_ident

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import Config, DataConfig
from hark.engine.interface import Answer, EngineError, Request, ScoreRequest
from hark.errors import UserError
from hark.translate.tasks import AT_ONCE, Task, Tasks, Turns
from hark.translate.translator import Translator
from tests.translate.stub import WORDS, Stub, tokenizer


def ask(text: str) -> Request:
    return Request([*tokenizer().encode([text])[0], tokenizer().special.end])


def decode(tokens: Sequence[int]) -> str:
    return tokenizer().decode([tokens])[0]


def conversation(name: int, rounds: Sequence[int]) -> Task[str]:
    """Submit several requests in several rounds, each depending on the answers before."""
    received = f"{name}"
    for questions in rounds:
        answers = yield [ask(f"{received} {i}") for i in range(questions)]
        received += "".join(decode(answer[0].tokens).replace(" ", "") for answer in answers)[:20]
    return received


def finish(tasks: Tasks[str], futures: Sequence["Future[list[str]]"]) -> None:
    while not all(future.done() for future in futures):
        tasks.step()


def alone(name: int, rounds: Sequence[int]) -> str:
    tasks: Tasks[str] = Tasks(Stub())
    future = tasks.begin([conversation(name, rounds)], list)
    finish(tasks, [future])
    return future.result()[0]


@given(st.lists(st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=3), max_size=12), st.integers(1, 6))
def test_every_task_gets_its_own_answers(groups: list[list[list[int]]], batch_size: int) -> None:
    tasks: Tasks[str] = Tasks(Stub(batch_size=batch_size))
    futures = [
        tasks.begin([conversation(number, rounds) for rounds in group], list) for number, group in enumerate(groups)
    ]
    finish(tasks, futures)
    expected = [[alone(number, rounds) for rounds in group] for number, group in enumerate(groups)]
    assert [future.result() for future in futures] == expected


def scored(text: str) -> Task[float]:
    """Ask for a translation, and for scores of it, along with another translation."""
    [[answer]] = yield [ask(text)]
    [other], [score] = yield [ask("tree"), ScoreRequest(ask(text).source, translation=answer.tokens)]
    assert decode(other.tokens) == "tree"
    assert score.tokens == answer.tokens
    return score.log_prob


def score_all(*translations: Sequence[int]) -> Task[list[bool]]:
    """Which translations are scored."""
    answers = yield [ScoreRequest(ask("tree").source, translation=each) for each in translations]
    return [bool(answer) for answer in answers]


def test_a_pair_that_is_too_long_has_no_score() -> None:
    engine = Stub()
    long = [5] * engine.config.max_positions
    tasks: Tasks[list[bool]] = Tasks(engine)
    future = tasks.begin([score_all([5, 6], long, [7])], list)
    while not future.done():
        tasks.step()
    assert future.result() == [[True, False, True]]


def test_translations_are_scored_in_one_batch_of_all_tasks() -> None:
    engine = Stub(batch_size=1)
    batches: list[int] = []

    def score(pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Iterator[tuple[float, ...]]:
        found = list(pairs)
        batches.append(len(found))
        return ((-float(len(source)), -float(len(target))) for source, target in found)

    engine.score = score  # type: ignore[method-assign]
    engine.step = lambda: [each for _ in range(3) for each in Stub.step(engine)]  # type: ignore[method-assign]
    tasks: Tasks[float] = Tasks(engine)
    texts = ["house", "the old house", "the cat sees the tree"]
    future = tasks.begin([scored(text) for text in texts], list)
    while not future.done():
        tasks.step()
    assert future.result() == [-float(2 * len(ask(text).source) - 1) for text in texts]
    assert sum(batches) == 3
    assert max(batches) > 1


def too_long() -> Task[str]:
    yield [ask("house"), Request([4] * 5000), ask("tree")]
    return "never"


def broken() -> Task[str]:
    yield [ask("house")]
    raise ValueError("a bug in one task")


@pytest.mark.parametrize(("bad", "error"), [(too_long, UserError), (broken, ValueError)])
def test_a_failing_task_does_not_affect_others(bad: "object", error: type[Exception]) -> None:
    engine = Stub()
    tasks: Tasks[str] = Tasks(engine)
    futures = [tasks.begin([conversation(number, [2, 1])], list) for number in range(20)]
    failed = tasks.begin([conversation(99, [1, 1, 1]), bad()], list)  # type: ignore[operator]
    futures += [tasks.begin([conversation(number, [1, 2])], list) for number in range(20)]
    finish(tasks, [*futures, failed])
    with pytest.raises(error):
        failed.result()
    assert [future.result() for future in futures] == [
        *([alone(number, [2, 1])] for number in range(20)),
        *([alone(number, [1, 2])] for number in range(20)),
    ]
    assert not engine.held
    assert len(engine.intake) == 0


def test_cancelled_futures_submit_no_more_requests() -> None:
    engine = Stub()
    tasks: Tasks[str] = Tasks(engine)
    gone, kept = (tasks.begin([conversation(number, [3, 3])], list) for number in range(2))
    tasks.step()
    assert gone.cancel()
    finish(tasks, [kept])
    assert kept.result() == [alone(1, [3, 3])]
    assert gone.cancelled()
    assert not any(text.startswith("0") for text in engine.asked[1:])
    assert not engine.held


def test_a_cancelled_group_starts_no_more_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.translate.tasks.MAX_RUNNING", 3)
    started: list[int] = []

    def many() -> Iterator[Task[str]]:
        for number in range(100):
            started.append(number)
            yield conversation(number, [1])

    tasks: Tasks[str] = Tasks(Stub())
    future = tasks.begin(many(), list)
    assert started == [0, 1, 2]
    tasks.step()
    assert len(started) == 4
    assert future.cancel()
    kept = tasks.begin([conversation(7, [2])], list)
    finish(tasks, [kept])
    assert len(started) == 4


def test_who_cancels_does_not_wait_while_tasks_start() -> None:
    starting, go_on = Event(), Event()

    def slow() -> Iterator[Task[str]]:
        starting.set()
        go_on.wait(WAIT)
        yield conversation(2, [1])

    tasks: Tasks[str] = Tasks(Stub())
    gone, kept = tasks.begin([conversation(0, [1])], list), Future[list[str]]()
    thread = Thread(target=lambda: tasks.begin(slow(), list, future=kept))
    thread.start()
    assert starting.wait(WAIT)
    cancelling = Thread(target=gone.cancel)
    cancelling.start()
    cancelling.join(WAIT)
    assert gone.cancelled()
    assert not cancelling.is_alive()
    go_on.set()
    thread.join(WAIT)
    finish(tasks, [kept])
    assert kept.result() == [alone(2, [1])]
    assert tasks.pending == 0
    assert not tasks.working


def test_a_group_that_cannot_start_fails_with_its_error() -> None:
    def broken() -> Iterator[Task[str]]:
        yield conversation(1, [1])
        raise UserError("no such language")

    tasks: Tasks[str] = Tasks(Stub())
    future = Future[list[str]]()
    with pytest.raises(UserError, match="no such language"):
        tasks.begin(broken(), list, future=future)
    with pytest.raises(UserError, match="no such language"):
        future.result(0)
    assert tasks.pending == 0


def test_urgent_tasks_submit_urgent_requests() -> None:
    engine = Stub(batch_size=1)
    tasks: Tasks[str] = Tasks(engine)
    bulk = [tasks.begin([conversation(number, [1])], list) for number in range(5)]
    urgent = tasks.begin([conversation(9, [1, 1])], list, urgent=True)
    while not urgent.done():
        tasks.step()
    assert sum(future.done() for future in bulk) == 0
    finish(tasks, bulk)


def test_two_threads_begin_tasks_while_a_third_steps() -> None:
    tasks: Tasks[str] = Tasks(Stub())
    futures: list[Future[list[str]]] = []

    def client(first: int) -> None:
        for number in range(first, first + 100):
            futures.append(tasks.begin([conversation(number, [1, 2])], list))

    clients = [Thread(target=client, args=(first,)) for first in (0, 100)]
    for thread in clients:
        thread.start()
    while any(thread.is_alive() for thread in clients) or not all(future.done() for future in futures):
        tasks.step()
    assert sorted(future.result()[0] for future in futures) == sorted(alone(number, [1, 2]) for number in range(200))


def test_of_tasks_with_the_same_key_one_runs() -> None:
    engine = Stub(batch_size=2)
    tasks: Tasks[str] = Tasks(engine)
    first = [tasks.begin([conversation(1, [1])], list, keys=["same"]) for _ in range(5)]
    other = tasks.begin([conversation(2, [1]), conversation(1, [1])], list, keys=[None, "same"])
    finish(tasks, [*first, other])
    asked = len(engine.asked)
    assert asked == 2
    assert {future.result()[0] for future in first} == {other.result()[1]}
    later = tasks.begin([conversation(1, [1])], list, keys=["same"])
    assert later.done()
    assert len(engine.asked) == asked


def test_a_task_waiting_for_a_cancelled_one_runs_on_its_own() -> None:
    tasks: Tasks[str] = Tasks(Stub())
    first = tasks.begin([conversation(1, [2])], list, keys=["same"])
    second = tasks.begin([conversation(1, [2])], list, keys=["same"])
    third = tasks.begin([conversation(1, [2])], list, keys=["same"])
    first.cancel()
    third.cancel()
    finish(tasks, [second])
    assert second.result() == [alone(1, [2])]


def test_a_task_like_an_interrupted_one_runs_on_its_own() -> None:
    def interrupted() -> Task[str]:
        yield [ask("house")]
        raise KeyboardInterrupt

    for begun in (0, 1):  # while it is begun, and while it is resumed
        tasks: Tasks[str] = Tasks(Stub())
        task = interrupted()
        if not begun:
            next(task)
        with pytest.raises(KeyboardInterrupt):
            finish(tasks, [tasks.begin([task], list, keys=["same"])])
        future = tasks.begin([conversation(0, [1])], list, keys=["same"])
        finish(tasks, [future])
        assert future.result() == [alone(0, [1])]


def test_a_long_group_starts_as_the_engine_has_room() -> None:
    """So that a small group that comes later need not wait until thousands of tasks have started."""
    started: list[int] = []

    def counted(number: int) -> Task[str]:
        started.append(number)
        yield [ask(f"tree {number}")]
        return f"{number}"

    engine = Stub(batch_size=200)
    tasks: Tasks[str] = Tasks(engine)
    book = tasks.begin((counted(number) for number in range(1000)), list)
    assert len(started) == AT_ONCE
    tasks.step()
    assert len(started) <= 2 * AT_ONCE + 1
    finish(tasks, [book])
    assert book.result() == [str(number) for number in range(1000)]
    assert engine.most == 200


def test_a_cancelled_group_is_not_topped_up() -> None:
    started: list[int] = []

    def counted(number: int) -> Task[str]:
        started.append(number)
        yield [ask("tree")]
        return ""

    tasks: Tasks[str] = Tasks(Stub())
    book = tasks.begin((counted(number) for number in range(1000)), list)
    book.cancel()
    for _ in range(10):
        tasks.step()
    assert len(started) == AT_ONCE
    assert tasks.pending == 0


def test_finished_tasks_are_reported_with_their_places() -> None:
    tasks: Tasks[str] = Tasks(Stub())
    reported: dict[int, str] = {}
    future = tasks.begin(
        [conversation(i, [1]) for i in range(8)], list, keys=[0, 1, 1, 2, None, None, 0, 3], report=reported.__setitem__
    )
    finish(tasks, [future])
    assert [reported[place] for place in range(8)] == future.result()


def test_the_cache_of_outcomes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.translate.tasks.CACHED_OUTCOMES", 100)
    tasks: Tasks[str] = Tasks(Stub())
    for first in range(0, 300, 50):
        numbers = range(first, first + 50)
        finish(tasks, [tasks.begin([conversation(i, [1]) for i in numbers], list, keys=list(numbers))])
        assert 50 <= len(tasks._outcomes) <= 100
    assert not tasks._leaders
    assert not tasks._unstarted


WAIT = 600
THREADS = 8


class Reluctant(Stub):
    """Gives other threads time to step at the same moment, and notes if one does."""

    def __init__(self) -> None:
        super().__init__(batch_size=3)
        self.inside: set[int] = set()
        self.collided = Event()
        self.pauses = 5

    def step(self) -> list[tuple[int, Answer]]:
        if self.inside:
            self.collided.set()
        self.inside.add(get_ident())
        try:
            if self.pauses:
                self.pauses -= 1
                self.collided.wait(0.1)
            return super().step()
        finally:
            self.inside.discard(get_ident())


def shared(engine: Stub) -> Translator:
    return Translator(engine, tokenizer(), tokenizer(), Config(data=DataConfig(source="en", target="en")))


@pytest.fixture
def hectic() -> Iterator[None]:
    """The interpreter switches threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], object]) -> list[object]:
    """Call a function in several threads at the same time; return the results, or raise the first error."""
    with ThreadPoolExecutor(THREADS) as pool:
        return [each.result(WAIT) for each in [pool.submit(work, number) for number in range(THREADS)]]


def texts_of(number: int) -> list[str]:
    return [f"The {word} is number {number}." for word in WORDS[: 20 + number]]


@pytest.mark.usefixtures("hectic")
def test_threads_get_their_own_translations_and_one_steps_at_a_time() -> None:
    engine = Reluctant()
    made = shared(engine)

    def work(number: int) -> list[str]:
        texts = texts_of(number)
        streamed = [each.text for each in made.stream(texts)]
        assert [made.translate(text).text for text in texts] == streamed
        return streamed

    assert in_threads(work) == [texts_of(number) for number in range(THREADS)]
    assert not engine.collided.is_set()
    assert made.tasks.pending == 0


@pytest.mark.usefixtures("hectic")
def test_streams_that_are_left_halfway_stop_nobody() -> None:
    made = shared(Stub())
    streams = [made.stream(texts_of(number)) for number in range(THREADS)]
    for stream in streams:
        next(stream)
    assert in_threads(lambda number: made.translate(f"We run {number}.").text) == [
        f"We run {number}." for number in range(THREADS)
    ]
    assert [[each.text for each in stream] for stream in streams] == [texts_of(i)[1:] for i in range(THREADS)]


def test_an_endless_stream_does_not_starve_a_single_text() -> None:
    made, stop, started = shared(Stub()), Event(), Event()

    def go_on() -> int:
        for done, _ in enumerate(made.stream(f"The cat {number}." for number in count())):
            started.set()
            if stop.is_set():
                return done
        raise AssertionError

    with ThreadPoolExecutor(1) as pool:
        streaming = pool.submit(go_on)
        assert started.wait(WAIT)
        for text in texts_of(1):
            assert made.translate(text).text == text
        stop.set()
        assert streaming.result(WAIT) > 0


class Interrupted(Stub):
    """Raises in the thread that steps first, as soon as another thread waits."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error: BaseException | None = error
        self.first: int | None = None
        self.others_wait = Event()

    def prepare(self, number: int, request: Request) -> tuple[int, Request]:
        if self.first not in (None, get_ident()):
            self.others_wait.set()
        return super().prepare(number, request)

    def step(self) -> list[tuple[int, Answer]]:
        self.first = self.first or get_ident()
        if self.error is not None:
            assert self.others_wait.wait(WAIT)
            error, self.error = self.error, None
            raise error
        return super().step()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("out of memory")])
def test_a_step_that_raises_ends_the_wait_of_all_threads(error: BaseException) -> None:
    engine = Interrupted(error)
    made = shared(engine)
    raised: dict[int, BaseException] = {}

    def work() -> None:
        try:
            made.translate(f"The cat {get_ident()}.")
        except BaseException as each:
            raised[get_ident()] = each

    first, second = Thread(target=work), Thread(target=work)
    first.start()
    while engine.first is None:
        pass
    second.start()
    for thread in (first, second):
        thread.join(WAIT)
        assert not thread.is_alive()
    assert raised.pop(engine.first) is error
    (other,) = raised.values()
    assert isinstance(other, EngineError)
    assert ("interrupted" in str(other)) == isinstance(error, KeyboardInterrupt)
    assert made.translate("We run.").text == "We run."  # the engine is as good as before


def test_what_a_step_calls_may_step() -> None:
    made = shared(Stub())
    inner: list[str] = []
    future = made.submit("The cat.")
    future.add_done_callback(lambda _: inner.append(made.translate("We run.").text))
    while not future.done():
        made.step()
    assert inner == ["We run."]


@pytest.mark.usefixtures("hectic")
def test_no_thread_sleeps_on_when_the_one_that_steps_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hark.translate.tasks.NAP", WAIT)
    done, calls = [0] * THREADS, count()

    def step() -> bool:
        place = next(calls)
        done[place % THREADS] += 1
        return place % 3 == 0

    turns = Turns(step)
    for goal in range(1, 200):
        in_threads(lambda number, goal=goal: turns.until(lambda: done[number] >= goal))  # type: ignore[misc]
    assert min(done) >= 199
