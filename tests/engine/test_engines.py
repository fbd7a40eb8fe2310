"""Guarantees of both engines: one bad request is one error, any thread may submit, and special ids are arbitrary."""

import random
from collections.abc import Callable
from dataclasses import replace
from threading import Thread

import pytest
import torch

from hark.config import DecodeConfig
from hark.engine.ctranslate2 import CTranslate2Engine
from hark.engine.interface import Answer, Engine, Request
from hark.engine.torch import TorchEngine
from hark.errors import UserError
from hark.model import Transformer
from hark.text.tokenizer import EOS, SPECIAL
from hark.text.vocabulary import SpecialIds
from tests.engine.oracle import random_model, weights_of
from tests.engine.test_ctranslate2 import CONFIG, VOCABULARY

Make = Callable[[Transformer, SpecialIds], Engine]

ENGINES: dict[str, Make] = {
    "torch": TorchEngine,
    "ctranslate2": lambda model, special: CTranslate2Engine(weights_of(model), model.config, special, "float32"),
}
engines = pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES)

BAD = [
    Request([]),
    Request([5] * 500),
    Request([VOCABULARY, EOS]),
    Request([-1, EOS]),
    Request([5, EOS], prefix=(VOCABULARY,)),
    Request([5, EOS], prefix=(EOS,)),
    Request([5, EOS], banned=range(VOCABULARY)),
]


def good(count: int, urgent: bool = False, seed: int = 1) -> list[Request]:
    chance = random.Random(seed)
    return [
        Request(
            [*(chance.randrange(4, VOCABULARY) for _ in range(chance.randint(1, 6))), EOS],
            DecodeConfig(beam=chance.choice((1, 2)), max_extra=2),
            urgent=urgent,
        )
        for _ in range(count)
    ]


def step_until(engine: Engine, count: int) -> dict[int, Answer]:
    found: dict[int, Answer] = {}
    while len(found) < count:
        found.update(engine.step())
    return found


@pytest.fixture(scope="module")
def model() -> Transformer:
    return random_model(CONFIG)


@engines
def test_a_bad_request_does_not_affect_others(make: Make, model: Transformer) -> None:
    engine = make(model, SPECIAL)
    asked = good(120)
    numbers = [engine.submit(each) for each in asked[:60]]
    bad = [engine.submit(each) for each in BAD]
    numbers += [engine.submit(each) for each in asked[60:]]
    found = step_until(engine, len(asked) + len(BAD))
    assert set(found) == {*numbers, *bad}
    assert all(isinstance(found[number], UserError) for number in bad)
    for place in random.Random(2).sample(range(120), 10):
        ((_, alone),) = engine.run([asked[place]])
        answer = found[numbers[place]]
        assert not isinstance(answer, UserError)
        assert [each.tokens for each in answer] == [each.tokens for each in alone]
    assert engine.step() == []


def test_a_beam_too_wide_or_too_large_for_the_cache_is_an_error(model: Transformer) -> None:
    engine = TorchEngine(model, SPECIAL, places=200)
    bad = [engine.submit(Request([5, EOS], DecodeConfig(beam=beam))) for beam in (100, 200)]
    fine = engine.submit(Request([5, EOS], DecodeConfig(max_extra=2)))
    found = step_until(engine, 3)
    assert [str(found[number]).split(";")[0] for number in bad] == [
        "sentence needs cache space for 5202 tokens, but the cache holds 200",
        "beam 200 exceeds this engine's maximum of 128",
    ]
    assert not isinstance(found[fine], UserError)


@engines
def test_run_raises_the_error_of_a_request(make: Make, model: Transformer) -> None:
    engine = make(model, SPECIAL)
    with pytest.raises(UserError, match="no tokens"):
        list(engine.run([*good(5), Request([]), *good(5)]))
    assert len(list(engine.run(good(5)))) == 5


@engines
def test_two_threads_submit_while_a_third_steps(make: Make, model: Transformer) -> None:
    engine = make(model, SPECIAL)
    asked = [good(20, seed=seed) for seed in (3, 4)]
    numbers: list[list[int]] = [[], []]

    def client(which: int) -> None:
        for each in asked[which]:
            numbers[which].append(engine.submit(each))

    clients = [Thread(target=client, args=(which,)) for which in range(2)]
    for thread in clients:
        thread.start()
    found = step_until(engine, 40)
    for thread in clients:
        thread.join()
    alone = [dict(engine.run(each)) for each in asked]
    for which in range(2):
        for place, number in enumerate(numbers[which]):
            answer = found[number]
            assert not isinstance(answer, UserError)
            assert [each.tokens for each in answer] == [each.tokens for each in alone[which][place]]


@engines
def test_urgent_requests_do_not_wait_for_bulk_and_bulk_finishes(
    make: Make, model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, count = make(model, SPECIAL), 400
    take, taken = engine.intake.take, list[int]()

    def note(*numbers: int) -> bool:
        taken.extend(numbers)
        return take(*numbers)

    # When they start, not when they finish: that depends on which of CTranslate2's threads the machine favours.
    monkeypatch.setattr(engine.intake, "take", note)
    if isinstance(engine, TorchEngine):
        engine.scheduler.rows, count = 16, 60  # so that bulk has to wait
    bulk = [engine.submit(each) for each in good(count)]
    engine.step()
    urgent = [engine.submit(each) for each in good(10, urgent=True)]
    answered: list[int] = []
    while len(answered) < count + 10:
        answered += [number for number, _ in engine.step()]
    assert sorted(answered) == sorted(taken) == [*bulk, *urgent]
    assert max(taken.index(number) for number in urgent) < 0.6 * count


@engines
def test_special_ids_are_not_hard_coded(make: Make) -> None:
    """The same model with its vocabulary renumbered: start is also padding, and EOS is 0, as in Marian's models."""
    config = replace(CONFIG, tie="all")
    plain = random_model(config)
    special = SpecialIds(pad=VOCABULARY - 1, unknown=1, start=VOCABULARY - 1, end=0)
    order = list(range(VOCABULARY))  # the new id of each old one
    order[SPECIAL.start], order[SPECIAL.end], order[SPECIAL.unknown] = special.start, special.end, special.unknown
    rest = sorted(set(range(VOCABULARY)) - {special.start, special.end, special.unknown})
    words = [SPECIAL.pad, *range(SPECIAL.end + 1, VOCABULARY)]
    for old, new in zip(words, rest, strict=True):
        order[old] = new
    renumbered = Transformer(config)
    state = dict(plain.state_dict())
    state["embedding.weight"] = torch.empty_like(state["embedding.weight"])
    state["embedding.weight"][order] = plain.embedding.weight.detach()
    renumbered.load_state_dict(state)
    pad = order[SPECIAL.pad]  # an ordinary word now, but forbidden in the other model

    def there(tokens: object) -> tuple[int, ...]:
        return tuple(order[token] for token in tokens)  # type: ignore[attr-defined]

    searches = [
        DecodeConfig(max_extra=3, nbest=2),
        DecodeConfig(beam=1, max_extra=3, min_length=4),
        DecodeConfig(beam=2, diverse=True, nbest=3, max_extra=3),
    ]
    here = [
        replace(each, search=searches[n % 3], banned=(9, 10) if n % 2 else (), prefix=(7,) if n % 5 == 0 else ())
        for n, each in enumerate(good(30))
    ]
    asked = [
        replace(each, source=there(each.source), prefix=there(each.prefix), banned=(pad, *there(each.banned)))
        for each in here
    ]
    expected = dict(make(plain, SPECIAL).run([replace(each, banned=(*each.banned, 0)) for each in here]))
    for number, answer in make(renumbered, special).run(asked):
        assert [each.tokens for each in answer] == [there(each.tokens) for each in expected[number]]
        for one, other in zip(answer, expected[number], strict=True):
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
            assert one.complete == other.complete
