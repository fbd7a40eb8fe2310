"""Threads that share a model: one at a time steps its engine, and each gets its own translations."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event, Thread, get_ident

import pytest

from hark.config import Config, DataConfig
from hark.engine.interface import EngineError
from hark.engine.request import Answer, Request
from hark.translate.translator import Translator
from hark.translate.turns import Turns
from tests.translate.stub import WORDS, Stub, tokenizer

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
    assert made.pending == 0


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
    monkeypatch.setattr("hark.translate.turns.NAP", WAIT)
    done, calls = [0] * THREADS, count()

    def step() -> bool:
        place = next(calls)
        done[place % THREADS] += 1
        return place % 3 == 0

    turns = Turns(step)
    for goal in range(1, 200):
        in_threads(lambda number, goal=goal: turns.until(lambda: done[number] >= goal))  # type: ignore[misc]
    assert min(done) >= 199
