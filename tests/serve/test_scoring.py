"""Scoring for many requests at a time: what waits is one batch, urgent first, and failures stay with their batch."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from hark.engine.request import BULK_EVERY
from hark.errors import HarkError
from hark.serve.running import EngineError
from hark.serve.scoring import FULL_BATCH, Pairs, Scoring
from hark.translate.piece import Options
from tests.serve.stubs import loaded, running, shout
from tests.translate.stub import Stub

OPTIONS = Options(detect=False)
WAIT = 60


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


class Scorer(Stub):
    scores_meanwhile = True


@pytest.mark.parametrize("kind", [Stub, Scorer])
def test_a_running_model_scores(kind: type[Stub]) -> None:
    model = running(kind(shout))
    assert model.nll([("ein Haus", "a house")], ("de", "en"), urgent=True).result(WAIT) == [None]
    assert not model.translating
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
