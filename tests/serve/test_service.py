"""The service: limits, languages, joining of identical requests, cancelling, streaming, closing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from hark.engine.interface import Engine
from hark.errors import UserError
from hark.models import InstalledModel
from hark.serve.bodies import Refusal
from hark.serve.running import RunningModel
from hark.serve.service import Job, Service, Translated
from hark.serve.settings import ServeSettings
from hark.serve.shelf import OVERHEAD, Shelf
from hark.text.detector import Ranking
from hark.translate.load import Loaded
from hark.translate.second_look import NLL
from hark.translate.translation import Sentence
from tests.loops import run
from tests.serve.stubs import Gate, installed, loaded, on_loop, service, shout, using
from tests.translate.stub import WORDS, Stub

WAIT = 600
JOB = Job(("the cat",), "en", "de")


def translate(job: Job, *names: str, **given: Any) -> list[Translated]:
    """Translate a job with a service of its own."""

    async def main() -> list[Translated]:
        async with using(*names, **given) as each:
            return await each.translate(job)

    return run(main())


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.001)


def refusal(job: Job, *names: str, **given: Any) -> tuple[int, str]:
    with pytest.raises(Refusal) as refused:
        translate(job, *names, **given)
    return refused.value.status, refused.value.message


def test_texts_are_translated_in_order() -> None:
    texts = tuple(f"the cat {i}" for i in range(20))
    done = translate(replace(JOB, texts=texts))
    assert [each.translation.text for each in done] == [text.upper() for text in texts]
    assert {(each.source, each.target, each.model) for each in done} == {("en", "de", "en-de")}


def test_no_texts_are_no_translations() -> None:
    assert translate(replace(JOB, texts=())) == []


def test_the_model_is_chosen_by_language() -> None:
    done = translate(Job(("der Hund",), "de", "en"), "en-de", "de-en")
    assert done[0].model == "de-en"
    done = translate(Job(("the cat",), "en-GB", "de"), "en-de", "de-en")
    assert (done[0].source, done[0].target) == ("en", "de")


def test_unknown_languages_are_refused() -> None:
    assert refusal(replace(JOB, target="xx")) == (400, "xx is not supported")
    assert refusal(replace(JOB, source="xx")) == (400, "xx is not supported")
    assert refusal(Job(("a",), "de", "fr"), "en-fr", "de-en") == (400, "de to fr is not supported")


def test_the_source_is_detected_for_each_text() -> None:
    texts = ("Where is the nearest train station, please?", "Où est la gare la plus proche, s'il vous plaît ?", "")
    done = translate(Job(texts, None, "de"), "en-de", "fr-de")
    assert [each.model for each in done][:2] == ["en-de", "fr-de"]
    assert done[2].translation.text == ""


@on_loop
async def test_languages_and_pairs() -> None:
    async with using("en-de", "fr-de") as each:
        assert each.pairs() == (("en", "de"), ("fr", "de"))
        assert each.languages() == ("de", "en", "fr")
        ranked = await each.detect("Wo ist bitte der nächste Bahnhof?")
        assert ranked[0][0] == "de"
        assert 0.5 < ranked[0][1] <= 1.0
        assert await each.detect(" \n") == []


@pytest.mark.parametrize(
    ("job", "status"),
    [
        (replace(JOB, texts=("x" * 101,)), 413),
        (replace(JOB, texts=("x",) * 6), 413),
        (replace(JOB, nbest=4), 400),
        (replace(JOB, nbest=0), 400),
        (replace(JOB, texts=("x" * 201,), urgent=False), 413),
    ],
)
def test_limits(job: Job, status: int) -> None:
    limits = {"characters": 100, "batch": 5, "nbest": 3, "document_characters": 200}
    assert refusal(job, **limits)[0] == status
    assert translate(JOB, **limits)[0].translation.text == "THE CAT"


@asynccontextmanager
async def gated(**given: Any) -> AsyncIterator[tuple[Service, Gate]]:
    """A service whose engine answers when its gate is opened."""
    engine = Gate()
    async with using(engine=lambda _: engine, **given) as each:
        try:
            yield each, engine
        finally:
            engine.opened = True


@on_loop
async def test_a_full_queue_refuses_at_once_and_recovers() -> None:
    async with gated(queue=1) as (each, engine):
        first = asyncio.create_task(each.translate(JOB))
        await until(lambda: each.jobs == 1)
        with pytest.raises(Refusal) as refused:
            await each.translate(replace(JOB, texts=("another",)))
        assert refused.value.status == 503
        assert refused.value.retry_after
        engine.opened = True
        await first
        assert (await each.translate(replace(JOB, texts=("another",))))[0].translation.text == "ANOTHER"


@on_loop
async def test_requests_of_the_same_moment_cannot_all_find_room() -> None:
    async with gated(queue=3) as (each, engine):
        jobs = [replace(JOB, texts=(f"the cat {i}",)) for i in range(10)]
        tasks = [asyncio.create_task(each.translate(job)) for job in jobs]
        await until(lambda: sum(task.done() for task in tasks) == 7)
        engine.opened = True
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(result, list) for result in results) == 3
        assert each.jobs == 0


@on_loop
async def test_bulk_leaves_room_for_interactive_requests() -> None:
    async with gated(queue_characters=100) as (each, engine):
        bulk = replace(JOB, urgent=False, texts=("x " * 30,))
        first = asyncio.create_task(each.translate(bulk))
        await until(lambda: each.jobs == 1)
        with pytest.raises(Refusal):
            await each.translate(replace(bulk, texts=("y " * 30,)))
        urgent = asyncio.create_task(each.translate(JOB))
        await until(lambda: each.jobs == 2)
        engine.opened = True
        await asyncio.gather(first, urgent)


@on_loop
async def test_identical_requests_in_flight_are_translated_once() -> None:
    async with gated() as (each, engine):
        tasks = [asyncio.create_task(each.translate(JOB)) for _ in range(5)]
        await until(lambda: len(engine.held) == 1)
        assert each.jobs == 1
        tasks[0].cancel()
        tasks[1].cancel()
        engine.opened = True
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(result) for result in results] == [asyncio.CancelledError] * 2 + [list] * 3
        assert len(engine.asked) == 1
        assert each.counts.joined == 4


@on_loop
async def test_the_last_client_that_hangs_up_frees_the_places() -> None:
    async with gated() as (each, engine):
        job = replace(JOB, texts=tuple(f"the cat {i}" for i in range(20)))
        tasks = [asyncio.create_task(each.translate(job)) for _ in range(2)]
        await until(lambda: len(engine.held) + len(engine.intake) == 20)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await until(lambda: not engine.held and not len(engine.intake))
        await until(lambda: each.jobs == 0 and each.shelf.running[0].open == 0)  # told by the engine's thread


@on_loop
async def test_one_bad_text_is_one_refusal() -> None:
    class Picky(Stub):
        def prepare(self, number, request):  # type: ignore[no-untyped-def]
            if request.search.nbest == 2:
                raise UserError("no")
            return super().prepare(number, request)

    async with using(engine=lambda _: Picky(shout)) as each:
        good, bad, other = await asyncio.gather(
            each.translate(JOB),
            each.translate(replace(JOB, texts=("the cat", "the dog"), nbest=2)),
            each.translate(replace(JOB, texts=("the tree",))),
            return_exceptions=True,
        )
        assert isinstance(bad, Refusal)
        assert (bad.status, bad.message) == (400, "no")
        assert not isinstance(good, BaseException)
        assert not isinstance(other, BaseException)


@on_loop
async def test_a_failing_engine_is_a_500_and_the_next_request_works() -> None:
    class Fails(Stub):
        def step(self):  # type: ignore[no-untyped-def]
            raise RuntimeError("bang")

    engines: list[Engine] = [Fails(), Stub(shout)]

    async with using(engine=lambda _: engines.pop(0)) as each:
        with pytest.raises(Refusal) as refused:
            await each.translate(JOB)
        assert refused.value.status == 500
        assert "bang" not in refused.value.message
        assert (await each.translate(JOB))[0].translation.text == "THE CAT"


@on_loop
async def test_events_come_by_sentence_and_then_by_text() -> None:
    texts = ("The cat runs. The house is old.", "The tree.", "")

    async with using() as each:
        events = [event async for event in each.stream(replace(JOB, texts=texts))]
    whole = {event.text: event.result for event in events if event.sentence is None}
    assert [whole[i].translation.text for i in range(3)] == [text.upper() for text in texts]
    sentences = [event for event in events if event.sentence is not None]
    assert sorted((event.text, event.sentence, event.of) for event in sentences) == [(0, 0, 2), (0, 1, 2), (1, 0, 1)]
    for event in sentences:
        assert isinstance(event.result, Sentence)
        assert isinstance(whole[event.text], Translated)
        last = max(i for i, other in enumerate(events) if other.text == event.text)
        assert events[last].sentence is None


@on_loop
async def test_leaving_a_stream_frees_the_places() -> None:
    async with gated() as (each, engine):

        async def read() -> None:
            async for _ in each.stream(replace(JOB, texts=("The cat. The house. The tree.",))):
                pass

        task = asyncio.create_task(read())
        await until(lambda: len(engine.held) == 3)
        task.cancel()
        await asyncio.wait([task])
        await until(lambda: not engine.held)
        await until(lambda: each.jobs == 0)  # told by the engine's thread


@on_loop
async def test_closing_finishes_what_was_accepted_and_refuses_the_rest() -> None:
    engine = Gate()
    each = service(engine=lambda _: engine)
    accepted = asyncio.create_task(each.translate(JOB))
    await until(lambda: len(engine.held) == 1)
    closing = asyncio.create_task(each.close())
    await asyncio.sleep(0)
    with pytest.raises(Refusal) as refused:
        await each.translate(replace(JOB, texts=("another",)))
    assert refused.value.status == 503
    engine.opened = True
    assert (await accepted)[0].translation.text == "THE CAT"
    await closing
    assert engine.closed


@on_loop
async def test_an_urgent_request_is_not_stuck_behind_a_book() -> None:
    """The engine takes the requests of an urgent job before nearly all of a book that came first."""
    order: list[str] = []
    engine = Gate(batch_size=4)
    engine.answer = lambda text, _: order.append(text) or text  # type: ignore[func-returns-value]

    async with using(engine=lambda _: engine, document_characters=99999) as each:
        book = asyncio.create_task(
            each.translate(Job((" ".join(f"The cat sees {i} houses." for i in range(300)),), "en", "de", urgent=False))
        )
        await until(lambda: len(engine.held) == 4)
        small = asyncio.create_task(each.translate(JOB))
        await until(lambda: any(request.urgent for _, request in engine.intake.peek(9999)))
        engine.opened = True
        await small
        assert order.index("the cat") < 12
        await book
        assert len(order) == 301


@on_loop
async def test_a_general_model_that_cannot_be_loaded_leaves_the_choice_to_the_others() -> None:
    """ "Es kostet 25 Euro." looks Spanish, so the model of several pairs is asked."""
    opened: list[str] = []

    def opener(model: InstalledModel, preparing: Executor) -> RunningModel:
        opened.append(model.name)
        if model.name == "many":
            raise UserError("many: damaged")
        return RunningModel(model.name, loaded(Stub(shout), *model.pairs[0]), preparing)

    offered = [installed("de-en"), installed("many", ("de", "en"), ("es", "en"), ("en", "de"))]
    each = Service(ServeSettings(), Shelf(offered, None, opener))
    done = await each.translate(Job(("Es kostet 25 Euro.", "Wo ist der Bahnhof?"), None, "en"))
    assert [result.model for result in done] == ["de-en", "de-en"]
    assert opened == ["many", "de-en"]
    await each.close()


@on_loop
async def test_short_words_are_tried_by_both_models() -> None:
    """Identification cannot tell, so the model with less doubt wins; a text that is too long for one is not its."""
    doubts: dict[str, float | None] = {"en-de": 1.0, "fr-de": 0.5}

    def opener(model: InstalledModel, preparing: Executor) -> RunningModel:
        each = loaded(Stub(shout), *model.pairs[0])
        each.nll = lambda *_, **__: [(doubt := doubts[model.name]) and NLL(doubt, doubt)]  # type: ignore[method-assign]
        return RunningModel(model.name, each, preparing)

    each = Service(ServeSettings(), Shelf([installed("en-de"), installed("fr-de")], None, opener))
    for doubt, chosen in ((0.5, "fr-de"), (2.0, "en-de"), (None, "en-de")):
        doubts["fr-de"] = doubt
        (done,) = await each.translate(Job(("hotel",), None, "de"))
        assert (done.model, done.source) == (chosen, chosen[:2])
    await each.close()


@pytest.mark.parametrize(
    ("text", "language", "name"),
    [
        ("Danke", "de", "already German"),
        ("Dziękuję", "pl", "Polish"),
        ("Dziękuję bardzo za wszystko, do zobaczenia jutro rano.", "pl", "Polish"),
        ("ありがとう", "ja", "Japanese"),
        ("Tack", "sv", "Swedish"),
        ("Tak", "pl", "Polish"),
        ("Teşekkürler", "tr", "Turkish"),
    ],
)
def test_what_no_model_translates_is_kept_and_flagged(text: str, language: str, name: str) -> None:
    (done,) = translate(Job((text,), None, "de"), "en-de", "fr-de")
    assert (done.translation.text, done.source, done.target) == (text, language, "de")
    (reason,) = done.translation.reasons
    assert str(reason) == f"not translated: not in the source language ({name})"
    (asked,) = translate(Job((text,), "en", "de"), "en-de", "fr-de")
    assert asked.source == "en"  # the user knows better


@on_loop
async def test_no_request_hangs_while_models_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short words are tried by models in turn, and there is memory for two of four. Nobody waits for a closed model."""

    def undecided(_: str, expected: Collection[str]) -> Ranking:
        return Ranking(tuple((code, 1 / len(expected)) for code in sorted(expected)))

    def equally_doubtful(engine: Engine, *languages: str) -> Loaded:
        each = loaded(engine, *languages)
        each.nll = lambda pairs, **_: [NLL(1.0, 1.0)] * len(pairs)  # type: ignore[method-assign]
        return each

    monkeypatch.setattr("hark.translate.languages.rank", undecided)
    monkeypatch.setattr("tests.serve.stubs.loaded", equally_doubtful)
    statuses: list[int] = []

    async def ask(each: Service, number: int) -> None:
        source, target = [(None, "de"), ("en", "de"), ("de", "en"), ("fr", "de"), ("de", "fr"), (None, "de")][
            number % 6
        ]
        for attempt in range(5):
            try:
                word = WORDS[number % len(WORDS)]
                (done,) = await each.translate(Job((f"{word} {number} {attempt}",), source, target))
            except Refusal as refusal:
                statuses.append(refusal.status)
            else:
                assert done.translation.text == f"{word} {number} {attempt}".upper()
                statuses.append(200)

    async with using("en-de", "de-en", "fr-de", "de-fr", memory=2 * OVERHEAD) as each:
        await asyncio.wait_for(asyncio.gather(*(ask(each, number) for number in range(80))), WAIT)
    assert len(statuses) == 400
    assert set(statuses) == {200, 503}  # some find no memory; none meets a closed model
