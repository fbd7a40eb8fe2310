"""A running model: translates for many clients, cancels, sleeps when idle, and fails alone."""

import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from hark.engine.interface import BULK_EVERY, Answer
from hark.errors import HarkError
from hark.serve.running import FULL_BATCH, MAX_INLINE_CHARS, EngineError, Pairs, RunningModel, Scoring
from hark.translate.piece import Options
from hark.translate.translation import Sentence
from tests.serve.stubs import Gate, loaded, running, shout
from tests.translate.stub import Stub

OPTIONS = Options(detect=False)
WAIT = 60


def wait_until(holds: "threading.Event | object") -> None:
    deadline = time.monotonic() + WAIT
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_texts_of_many_threads_get_their_own_translations() -> None:
    model = running(Stub(shout))
    futures = [(text, model.submit(text, OPTIONS)) for text in [f"the cat sees house {i}" for i in range(50)]]
    assert [future.result(WAIT).text for _, future in futures] == [text.upper() for text, _ in futures]
    assert model.open == 0
    model.close()


@pytest.mark.parametrize("length", [1, MAX_INLINE_CHARS])
def test_a_long_text_is_prepared_elsewhere(length: int) -> None:
    threads: list[str] = []
    model = running(Stub(lambda text, _: threads.append(threading.current_thread().name) or text))  # type: ignore[func-returns-value]
    submit = model.loaded.translator.submit
    model.loaded.translator.submit = lambda *given: (threads.append(threading.current_thread().name), submit(*given))[1]  # type: ignore[method-assign]
    text = "the cat. " * (length // 9 + 1)
    assert model.submit(text, OPTIONS).result(WAIT).text == text
    assert (threads[0] == threads[-1]) == (length < MAX_INLINE_CHARS)
    model.close()


def test_sentences_are_reported_as_they_finish() -> None:
    model = running(Stub(shout))
    seen: list[tuple[int, int, Sentence]] = []
    text = "The cat runs. The house is old.\n\nThe tree is red."
    result = model.submit(text, OPTIONS, lambda *event: seen.append(event)).result(WAIT)
    assert sorted(index for index, _, _ in seen) == [0, 1, 2]
    assert {count for _, count, _ in seen} == {3}
    for index, _, sentence in seen:
        assert sentence.text == result.sentences[index].text
        assert text[sentence.source_start :].startswith(sentence.source)
    model.close()


def test_cancelling_frees_the_queue_and_the_batches() -> None:
    engine = Gate(batch_size=2)
    model = running(engine)
    futures = [model.submit(f"the cat {i}. the house {i}.", OPTIONS) for i in range(4)]
    wait_until(lambda: len(engine.held) == 2 and len(engine.intake) == 6)
    for future in futures:
        assert future.cancel()
    wait_until(lambda: not engine.held and not len(engine.intake))
    assert model.open == 0
    engine.opened = True
    assert model.submit("the tree", OPTIONS).result(WAIT).text == "THE TREE"
    model.close()


def test_an_idle_model_does_not_step() -> None:
    engine = Stub(shout)
    model = running(engine)
    model.submit("the cat", OPTIONS).result(WAIT)
    model.submit("", OPTIONS).result(WAIT)  # needs no engine; what came before it is finished
    steps: list[int] = []
    step = engine.step
    engine.step = lambda: (steps.append(1), step())[1]  # type: ignore[method-assign]
    model.submit("", OPTIONS).result(WAIT)
    assert not steps
    model.close()


class Broken(Stub):
    def step(self) -> list[tuple[int, Answer]]:
        raise RuntimeError("out of memory")


def test_a_failing_engine_fails_open_futures_and_says_so() -> None:
    model = running(Broken())
    with pytest.raises(EngineError, match="out of memory"):
        model.submit("the cat", OPTIONS).result(WAIT)
    assert model.failed
    with pytest.raises(EngineError):
        model.submit("the house", OPTIONS).result(WAIT)
    assert model.open == 0


def test_an_error_of_one_text_fails_that_text_only() -> None:
    model = running(Stub(shout))
    bad = model.submit(b"7", OPTIONS)  # type: ignore[arg-type]
    good = model.submit("the cat", OPTIONS)
    with pytest.raises(TypeError):
        bad.result(WAIT)
    assert good.result(WAIT).text == "THE CAT"
    assert not model.failed
    model.close()


class Scorer(Stub):
    scores_meanwhile = True


def close_in_background(model: RunningModel) -> threading.Thread:
    thread = threading.Thread(target=model.close)
    thread.start()
    return thread


def test_closing_finishes_what_is_open() -> None:
    engine = Gate()
    model = running(engine)
    future = model.submit("the cat", OPTIONS)
    closing = close_in_background(model)
    assert not future.done()
    engine.opened = True
    assert future.result(WAIT).text == "THE CAT"
    closing.join(WAIT)
    assert not closing.is_alive()
    assert engine.closed


def test_closing_does_not_wait_for_cancelled_texts() -> None:
    engine = Gate()
    model = running(engine)
    future = model.submit("the cat", OPTIONS)
    closing = close_in_background(model)
    future.cancel()
    closing.join(WAIT)
    assert not closing.is_alive()


def test_what_is_submitted_after_closing_fails() -> None:
    model = running(Stub(shout))
    model.close()
    later: list[Future[Any]] = [
        model.submit("the cat", OPTIONS),
        model.submit("the cat. " * MAX_INLINE_CHARS, OPTIONS),
        model.nll([("die Katze", "the cat")], ("de", "en"), urgent=True),
    ]
    for future in later:
        with pytest.raises(EngineError, match="en-de: the model is closed"):
            future.result(WAIT)
    assert model.open == 0


def test_no_future_hangs_that_is_submitted_while_the_model_closes() -> None:
    for _ in range(30):
        model = running(Stub(shout))
        futures: list[Future[Any]] = [model.submit("", OPTIONS)]
        closing = close_in_background(model)
        while closing.is_alive():
            futures.append(model.submit("", OPTIONS))
            futures.append(model.submit("the cat", OPTIONS))
        for future in futures:
            assert future.exception(WAIT) is None or isinstance(future.exception(), EngineError)


def test_closing_waits_for_what_is_scored_although_nobody_else_does() -> None:
    scoring, go_on = threading.Event(), threading.Event()
    model = running(Scorer(shout))
    model.loaded.nll = lambda *_, **__: (scoring.set(), go_on.wait(WAIT), [None])[-1]  # type: ignore[method-assign,assignment,return-value]
    future = model.nll([("ein Haus", "a house")], ("de", "en"), urgent=True)
    assert scoring.wait(WAIT)
    assert not future.cancel()  # the client hung up, too late
    closing = close_in_background(model)
    wait_until(lambda: model._end is not None and model._inbox.empty())  # it waits for the last open future
    go_on.set()
    closing.join(WAIT)
    assert not closing.is_alive()
    assert model.open == 0


def test_a_long_text_after_the_end_of_the_server_fails() -> None:
    preparing = ThreadPoolExecutor(1)
    model = RunningModel("en-de", loaded(Stub(shout)), preparing)
    preparing.shutdown()
    long = "the cat. " * MAX_INLINE_CHARS
    with pytest.raises(EngineError, match="shutting down"):
        model.submit(long, OPTIONS).result(WAIT)
    model.close()
    with pytest.raises(EngineError, match="is closed"):
        model.submit(long, OPTIONS).result(WAIT)


SENTENCES = ["the cat sees", "a small house", "an old tree", "the red house"]
"""So few that the texts of different clients have the same ones, of which only one is translated."""
LONG = "the cat was here. " * (MAX_INLINE_CHARS // 18 + 1)


class Failing(Stub):
    """Fails at a step."""

    steps_left = 60

    def step(self) -> list[tuple[int, Answer]]:
        self.steps_left -= 1
        if not self.steps_left:
            raise RuntimeError("out of memory")
        return super().step()


@pytest.mark.parametrize("kind", [Stub, Failing])
def test_clients_that_hang_up_leave_nothing_behind(kind: type[Stub]) -> None:
    engine = kind(shout, batch_size=3)
    model = running(engine)
    asked: list[tuple[str, Future[Any]]] = []

    def ask(seed: int) -> None:
        chance = random.Random(seed)
        for number in range(40):
            own = f"we have {seed} {number}"  # of which no other text has a translation in the cache
            text = ". ".join([*chance.choices(SENTENCES, k=chance.randrange(4)), own, chance.choice(SENTENCES)]) + "."
            if not number % 16:
                text = f"{own}. {LONG}"
            future = model.submit(text, replace(OPTIONS, urgent=chance.random() < 0.5))
            asked.append((text, future))
            match chance.randrange(4):
                case 0:
                    future.cancel()  # perhaps before it has started
                case 1:
                    asked[chance.randrange(len(asked))][1].cancel()  # perhaps while a step answers it
                case 2:
                    with suppress(CancelledError, EngineError):
                        future.result(WAIT)

    clients = [threading.Thread(target=ask, args=[seed]) for seed in range(4)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(WAIT)
    for text, future in asked:
        try:
            assert future.result(WAIT).text == text.upper()
        except CancelledError:
            pass
        except EngineError:
            assert kind is Failing
    assert model.open == 0
    assert model.failed == (kind is Failing)
    tasks = model.loaded.translator.tasks
    assert not tasks._open
    if kind is Stub:  # the other one is thrown away
        wait_until(lambda: not tasks.working)
        assert not tasks._leaders
        assert not tasks.pending
        assert not engine.held
        assert not len(engine.intake)
    model.close()


class Recorded:
    """A queue of a model that answers with the length of the text, and records what it scores."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], str, str]] = []
        model = loaded(Stub(shout))
        model.nll = self._nll  # type: ignore[method-assign,assignment]
        self.queue = Scoring(model)

    def _nll(self, texts: Sequence[tuple[str, str]], source: str, target: str) -> list[float]:
        if any(text == "bad" for text, _ in texts):
            raise RuntimeError("out of memory")
        self.calls.append(([text for text, _ in texts], source, target))
        return [float(len(text)) for text, _ in texts]

    def add(self, *texts: str, languages: tuple[str, str] = ("de", "en"), urgent: bool = True) -> "Future[Any]":
        pairs = Pairs([(text, "") for text in texts], languages)
        self.queue.add(pairs, urgent)
        return pairs.future


def test_all_that_waits_is_one_batch_with_urgent_requests_first() -> None:
    model = Recorded()
    futures = [model.add("book", urgent=False), model.add("a", "bcd"), model.add("ef")]
    model.queue.score()
    assert model.calls == [(["a", "bcd", "ef", "book"], "de", "en")]
    assert [future.result(0) for future in futures] == [[4.0], [1.0, 3.0], [2.0]]


def test_a_batch_is_bounded_and_has_one_pair_of_languages() -> None:
    model = Recorded()
    model.add(*["a"] * (FULL_BATCH + 1), urgent=False)
    model.add("b", urgent=False)
    model.add("c", languages=("fr", "en"), urgent=False)
    for _ in range(4):
        model.queue.score()
    assert model.calls == [(["a"] * (FULL_BATCH + 1), "de", "en"), (["b"], "de", "en"), (["c"], "fr", "en")]


def test_a_document_is_scored_however_many_sentences_come() -> None:
    model = Recorded()
    document = [model.add("book", urgent=False) for _ in range(2)]
    for _ in range(BULK_EVERY):
        model.add(*["a"] * FULL_BATCH)
        model.queue.score()
    assert [future.result(0) for future in document] == [[4.0], [4.0]]
    assert sum(texts[0] == "book" for texts, _, _ in model.calls) == 1


def test_cancelled_requests_are_dropped() -> None:
    model = Recorded()
    cancelled, kept = model.add("a"), model.add("b")
    assert cancelled.cancel()
    model.queue.score()
    assert model.calls == [(["b"], "de", "en")]
    assert kept.result(0) == [1.0]


def test_a_failure_fails_its_batch_only() -> None:
    model = Recorded()
    bad = model.add("bad")
    model.queue.score()
    with pytest.raises(HarkError, match="out of memory"):
        bad.result(0)
    good = model.add("good")
    model.queue.score()
    assert good.result(0) == [4.0]


@pytest.mark.parametrize("kind", [Stub, Scorer])
def test_a_running_model_scores(kind: type[Stub]) -> None:
    model = running(kind(shout))
    assert model.nll([("ein Haus", "a house")], ("de", "en"), urgent=True).result(WAIT) == [None]
    assert not model.working
    model.close()
    assert model.open == 0


@pytest.mark.parametrize("kind", [Stub, Scorer])
def test_a_failed_model_does_not_score(kind: type[Stub]) -> None:
    model = running(kind(shout))
    model.loaded.engine.step = None  # type: ignore[method-assign,assignment]
    with pytest.raises(EngineError):
        model.submit("the cat", OPTIONS).result(WAIT)
    with pytest.raises(EngineError):
        model.nll([("ein Haus", "a house")], ("de", "en"), urgent=True).result(WAIT)
