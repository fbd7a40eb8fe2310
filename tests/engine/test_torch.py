"""The torch engine: equal to a search without a cache, and independent of batch and order."""

import gc
import random
import weakref
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hark.config import DecodeConfig
from hark.engine.forced import TokenTranslation
from hark.engine.interface import AlignmentHeads, Hypothesis, Request, length_penalty
from hark.engine.torch import LANES, TorchEngine
from hark.engine.watch import Watch
from hark.errors import HarkError, UserError
from hark.model import Transformer, padded_layout
from hark.text.tokenizer import BOS, EOS, SPECIAL
from tests.engine.naive import beam_search, next_log_probs
from tests.engine.oracle import arrival_of, log_probs, search_without_cache, uncached
from tests.model.oracle import build

SEEDS = st.integers(0, 2**31)


def lively(**changes: object) -> Transformer:
    """A model whose output depends on its input, and which sometimes produces EOS."""
    torch.manual_seed(4)
    model = build(**{"tie": "none", **changes})
    last = model.decoder.layers[-1].feed_forward_residual.norm if model.config.norm == "post" else model.decoder.norm
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.mul_(4)
        # The last norm's bias is part of every input of the projection. Words ignore it, so that none is always
        # produced; EOS uses it, so that it is sometimes produced.
        towards = last.bias / last.bias.norm()
        model.output_weight.sub_(torch.outer(model.output_weight @ towards, towards))
        model.output_weight[EOS] = 3.0 * towards / last.bias.norm() + 0.3 * model.output_weight[EOS]
    return model


@pytest.fixture(scope="module")
def engine() -> TorchEngine:
    return TorchEngine(lively(), SPECIAL)


@st.composite
def requests(draw: st.DrawFn, count: int = 6) -> list[Request]:
    """Beams of all kinds, samples, prefixes, banned tokens."""
    kinds = st.sampled_from(
        [
            DecodeConfig(beam=1, max_extra=3, min_length=1),
            DecodeConfig(max_extra=4, nbest=2, min_length=2),
            DecodeConfig(max_extra=2, alpha=1.2, patience=2.0, nbest=5),
            DecodeConfig(beam=3, max_extra=3, min_length=4),
            DecodeConfig(max_extra=3, sample=True, nbest=2, top_k=20, top_p=0.9),
            DecodeConfig(beam=2, max_extra=3, diverse=True, nbest=3),
        ]
    )
    words = st.integers(4, 39)
    return [
        Request(
            (*draw(st.lists(words, max_size=8)), EOS),
            draw(kinds),
            tuple(draw(st.lists(words, max_size=2))),
            tuple(draw(st.lists(words, max_size=3))),
        )
        for _ in range(count)
    ]


def facts(hypotheses: Sequence[Hypothesis]) -> list[tuple[object, ...]]:
    return [(each.tokens, each.log_prob, each.score, each.complete) for each in hypotheses]


def answers(engine: TorchEngine, requests: Sequence[Request]) -> list[list[tuple[object, ...]]]:
    found = dict(engine.run(requests))
    assert sorted(found) == list(range(len(requests)))
    return [facts(found[number]) for number in sorted(found)]


@given(requests(), st.randoms(use_true_random=False))
@settings(max_examples=6)
def test_results_are_bitwise_independent_of_batch_and_order(
    engine: TorchEngine, crowd: list[Request], chance: random.Random
) -> None:
    alone = [answers(engine, [each])[0] for each in crowd]
    order = list(range(len(crowd)))
    chance.shuffle(order)
    assert answers(engine, [crowd[i] for i in order]) == [alone[i] for i in order]


def test_results_are_independent_of_a_large_batch(engine: TorchEngine) -> None:
    """More than fit at once, so that rows are reused."""
    chance = random.Random(1)
    crowd = [
        Request(
            (*(chance.randrange(4, 40) for _ in range(chance.randint(0, 8))), EOS),
            DecodeConfig(max_extra=3, min_length=2),
        )
        for _ in range(24)
    ]
    narrow = TorchEngine(engine.model, SPECIAL, rows=8, places=400)
    together = answers(engine, crowd)
    assert together == answers(narrow, crowd) == [answers(engine, [each])[0] for each in crowd]
    # A model that always gives the same output, or never ends, would prove nothing.
    assert len({tokens for ((tokens, *_),) in together}) > 12
    assert 3 < sum(bool(complete) for ((*_, complete),) in together) < 21


@pytest.mark.parametrize(
    "changes",
    [{}, {"norm": "pre", "positions": "rotary", "d_v": 12}, {"positions": "learned", "tie": "none", "d_k": 6}],
    ids=str,
)
def test_the_engine_equals_a_search_without_a_cache(changes: dict[str, object]) -> None:
    model = lively(**changes)
    engine, chance = TorchEngine(model, SPECIAL), random.Random(2)
    for beam, nbest in ((1, 1), (2, 2), (4, 3)):
        source = (*(chance.randrange(4, 40) for _ in range(chance.randint(2, 9))), EOS)
        request = Request(source, DecodeConfig(beam=beam, nbest=nbest, max_extra=4, min_length=3), (7,), (9, 11))
        expected = search_without_cache(model, request)
        found = dict(engine.run([request]))[0]
        assert [each.tokens for each in found] == [each.tokens for each in expected]
        assert [each.log_prob for each in found] == pytest.approx([each.log_prob for each in expected], abs=1e-4)
        assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-4)


@given(requests(count=3))
@settings(max_examples=10)
def test_requests_are_honoured(engine: TorchEngine, asked: list[Request]) -> None:
    for number, found in engine.run(asked):
        request = asked[number]
        assert 1 <= len(found) <= request.search.nbest
        assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
        for each in found:
            assert each.tokens[: len(request.prefix)] == request.prefix
            own = each.tokens[len(request.prefix) :]
            assert not {0, 1, BOS, EOS, *request.banned} & set(own)
            assert len(each.tokens) + each.complete <= max(request.limit, len(request.prefix) + 1)
            assert each.complete or len(each.tokens) >= request.limit
            assert len(each.tokens) >= min(request.search.min_length, request.limit)
            counted = len(own) + each.complete
            assert each.score == each.log_prob / length_penalty(counted, request.search.alpha)


def test_scores_are_the_models_log_probabilities(engine: TorchEngine) -> None:
    pairs = [((5, 6, 7, EOS), (8, 9, 10, 8)), ((9, EOS), ()), ((9, 8, EOS), (4, 4, 4, 4))]
    for (source, target), found in zip(pairs, engine.score(iter(pairs)), strict=True):
        assert found == pytest.approx(log_probs(engine.model, source, target), abs=1e-4)
        assert [found] == [*engine.score([(source, target)])]
    together = TorchEngine(engine.model, SPECIAL)
    together.exact = False  # all in one batch, as on a GPU
    for found, expected in zip(together.score(pairs), engine.score(pairs), strict=True):
        assert found == pytest.approx(expected, abs=1e-4)


def test_diverse_translations_start_with_the_likeliest_tokens(engine: TorchEngine) -> None:
    source = (5, 9, 14, 30, EOS)
    request = Request(source, DecodeConfig(beam=3, diverse=True, nbest=4, max_extra=3), prefix=(8,))
    found = dict(engine.run([request]))[0]
    model = uncached(engine.model, source)
    likeliest, firsts = next_log_probs(model, arrival_of(request), [(8,)])[0].topk(4)
    assert {(each.tokens[1:] or (EOS,))[0] for each in found} == set(firsts.tolist())
    for first, log_prob in zip(firsts.tolist(), likeliest.tolist(), strict=True):
        (mine,) = [each for each in found if (each.tokens[1:] or (EOS,))[0] == first]
        if first == EOS:
            assert mine.log_prob == pytest.approx(log_prob, abs=1e-5)
            continue
        # The same search with that token forced, except that it counts.
        forced = beam_search(model, arrival_of(request)._replace(forced=(8, first), start=log_prob), 3)[0]
        assert mine.tokens == forced.tokens
        assert mine.log_prob == pytest.approx(forced.log_prob, abs=1e-4)
        assert mine.tokens[:2] == (8, first)


def test_samples_depend_only_on_the_seed(engine: TorchEngine) -> None:
    source = (5, 9, 14, 30, EOS)
    ask_for = DecodeConfig(sample=True, nbest=8, max_extra=3)
    first = answers(engine, [Request(source, ask_for)])[0]
    assert first == answers(engine, [Request((4, EOS), ask_for), Request(source, ask_for)])[1]
    other = answers(engine, [Request(source, replace(ask_for, seed=2))])[0]
    assert {tokens for tokens, *_ in first} != {tokens for tokens, *_ in other}
    assert len({tokens for tokens, *_ in first}) > 4  # independent of each other
    few = answers(engine, [Request(source, replace(ask_for, nbest=3))])[0]
    assert {tokens for tokens, *_ in few} <= {tokens for tokens, *_ in first}


def test_sampling_with_top_k_one_is_greedy(engine: TorchEngine) -> None:
    source = (5, 9, 14, 30, EOS)
    greedy = answers(engine, [Request(source, DecodeConfig(beam=1, max_extra=3))])
    assert greedy == answers(engine, [Request(source, DecodeConfig(sample=True, top_k=1, max_extra=3))])


def test_attention_is_that_of_the_model(engine: TorchEngine) -> None:
    source = (5, 9, 14, 30, EOS)
    (best,) = dict(engine.run([Request(source, DecodeConfig(max_extra=3, min_length=4), attention=True)]))[0]
    assert best.attention_TS is not None
    assert best.attention_TS.shape == (len(best.tokens), len(source))
    np.testing.assert_allclose(best.attention_TS.sum(1), 1.0, atol=1e-5)
    layers: list[Tensor] = []
    target_BT = torch.tensor([[BOS, *best.tokens[:-1]]])
    layout = padded_layout(torch.tensor([len(source)]), torch.tensor([target_BT.shape[1]]))
    layout = layout.observed({"cross": layers.append})
    with torch.no_grad():
        engine.model(torch.tensor([source]), target_BT, layout)
    other = TorchEngine(engine.model, SPECIAL, alignment=AlignmentHeads(1, (0, 2)))
    (chosen,) = other.align([TokenTranslation(source, best.tokens, complete=True)])
    np.testing.assert_allclose(best.attention_TS, layers[0][0].mean(0).numpy(), atol=1e-5)  # the layer before the last
    np.testing.assert_allclose(chosen, layers[1][0, [0, 2]].mean(0).numpy(), atol=1e-5)


def test_attention_of_many_in_one_pass(engine: TorchEngine) -> None:
    """As on a GPU: translations of all lengths, some of them truncated, share passes."""
    chance = random.Random(3)
    asked = [
        Request(
            (*(chance.randrange(4, 40) for _ in range(chance.randint(0, 8))), EOS),
            DecodeConfig(beam=chance.choice((1, 3)), max_extra=3, nbest=1),
            attention=chance.random() < 0.7,
        )
        for _ in range(20)
    ]
    for step in ("predicts", "reads"):
        alignment = AlignmentHeads(1, (0, 2), step)
        together = TorchEngine(engine.model, SPECIAL, alignment=alignment)
        together.exact = False
        alone = dict(TorchEngine(engine.model, SPECIAL, alignment=alignment).run(asked))
        for number, (best, *_) in together.run(asked):
            expected = alone[number][0].attention_TS
            if not asked[number].attention:
                assert best.attention_TS is expected is None
                continue
            assert best.attention_TS is not None
            assert best.attention_TS.shape == (len(best.tokens), len(asked[number].source))
            np.testing.assert_allclose(best.attention_TS, expected, atol=1e-5)


def finish(engine: TorchEngine, numbers: set[int]) -> dict[int, object]:
    """Step until the requests of these numbers, and no others, are answered."""
    found: dict[int, object] = {}
    while len(found) < len(numbers):
        found.update(engine.step())
    assert set(found) == numbers
    return found


def test_a_short_sentence_is_answered_before_a_long_one_ends(engine: TorchEngine) -> None:
    """Also if the host runs ahead: an answer being copied does not wait for the next to end."""
    ahead = TorchEngine(engine.model, SPECIAL)
    ahead.lag = 1
    long, short = (
        ahead.submit(Request((*range(4, 4 + n), EOS), DecodeConfig(max_extra=0, min_length=n))) for n in (35, 3)
    )
    finish(ahead, {short})
    (lane,) = (lane for lane, entries in ahead.slots.items() if entries)
    assert lane.clock <= 16
    finish(ahead, {long})


def test_an_abandoned_run_does_not_affect_the_next(engine: TorchEngine) -> None:
    asked = [Request((*range(4, 4 + n), EOS), DecodeConfig(max_extra=2)) for n in range(1, 12)]
    run = engine.run(asked)
    next(run)
    run.close()
    assert answers(engine, asked) == [answers(engine, [each])[0] for each in asked]


def test_results_are_the_same_if_the_host_runs_ahead(engine: TorchEngine) -> None:
    """As on a GPU: several steps at once, and finished sentences are known a round later, when slots may be reused."""
    chance = random.Random(6)
    crowd = [
        Request((*(chance.randrange(4, 40) for _ in range(chance.randint(0, 8))), EOS), DecodeConfig(max_extra=3))
        for _ in range(14)
    ]
    crowd[7] = replace(crowd[7], search=DecodeConfig(beam=2, diverse=True, nbest=3, max_extra=3))
    alone = answers(engine, crowd)
    for steps in (None, 3):
        narrow = TorchEngine(engine.model, SPECIAL, rows=8, places=400, steps_at_once=steps)
        narrow.lag = 1
        assert answers(narrow, crowd) == alone


def long_requests(count: int, length: int) -> list[Request]:
    """Outputs that are much longer than their sources, so that they need pages."""
    chance = random.Random(9)
    search = DecodeConfig(beam=2, max_extra=length, min_length=length)
    return [Request((*(chance.randrange(4, 40) for _ in range(1 + n % 5)), EOS), search) for n in range(count)]


def test_outputs_that_outgrow_their_pages_are_the_same(engine: TorchEngine) -> None:
    """With room for all, with room for a few, whose memory must be given back and taken again, and for one."""
    crowd = long_requests(6, 40)
    alone = [answers(engine, [each])[0] for each in crowd]
    assert answers(engine, crowd) == alone
    for places, lag in ((300, 0), (200, 0), (200, 1), (120, 0)):
        narrow = TorchEngine(engine.model, SPECIAL, rows=16, places=places)
        narrow.lag = lag
        restarted = []
        restart = narrow.restart_youngest
        narrow.restart_youngest = lambda: (restarted.append(1), restart())  # type: ignore[method-assign,assignment]  # noqa: B023
        assert answers(narrow, crowd) == alone
        assert restarted
        assert narrow.scheduler.places.free == narrow.places
        assert narrow.scheduler.rows == narrow.rows


def test_a_long_limit_costs_no_memory(engine: TorchEngine) -> None:
    """Short outputs with a high limit run side by side where all that they might need would not fit."""
    crowd = [Request((5 + n, EOS), DecodeConfig(beam=2, max_extra=90), prefix=(9, 11)) for n in range(8)]
    narrow = TorchEngine(engine.model, SPECIAL, places=8 * (2 + 2 * 16))
    numbers = [narrow.submit(each) for each in crowd]
    narrow.step()
    assert narrow.scheduler.running == len(crowd)
    for number in numbers:
        narrow.cancel(number)
    narrow.step()
    assert narrow.scheduler.places.free == narrow.places


@pytest.mark.parametrize("changes", [{}, {"norm": "pre", "positions": "rotary"}], ids=str)
def test_a_long_prefix_is_read_in_one_pass(changes: dict[str, object]) -> None:
    model, chance = lively(**changes), random.Random(5)
    engine = TorchEngine(model, SPECIAL)
    crowd = [
        Request(
            (*(chance.randrange(4, 40) for _ in range(length)), EOS),
            DecodeConfig(beam=beam, nbest=beam, max_extra=20 + length),
            tuple(chance.randrange(4, 40) for _ in range(length)),
        )
        for beam, length in ((1, 8), (2, 21), (3, 12))
    ]
    alone = [answers(engine, [each])[0] for each in crowd]
    assert answers(engine, crowd) == alone
    together = TorchEngine(model, SPECIAL)
    together.exact = False  # all prefixes in one pass, as on a GPU
    for request, found in zip(crowd, answers(together, crowd), strict=True):
        (lane,) = [lane for lane in together.lanes.values() if lane.shape.width == request.search.beam]
        assert lane.clock < request.limit - len(request.prefix) + 1  # no step for what it was given
        expected = search_without_cache(model, request)
        assert [each[0] for each in found] == [each.tokens for each in expected]
        assert [each[1] for each in found] == pytest.approx([each.log_prob for each in expected], abs=1e-4)


def test_cancelling_frees_slots_and_places(engine: TorchEngine) -> None:
    """For running searches, including samples and branches, and for waiting ones."""
    narrow = TorchEngine(engine.model, SPECIAL, rows=16, places=700)
    kinds = [
        DecodeConfig(max_extra=7, min_length=8),
        DecodeConfig(max_extra=7, min_length=8, sample=True, nbest=3),
        DecodeConfig(max_extra=7, min_length=8, beam=2, diverse=True, nbest=3),
    ]
    sources = [(*range(4, 4 + n % 5), EOS) for n in range(24)]
    asked = [Request(source, kinds[n % 3]) for n, source in enumerate(sources)]
    expected = answers(engine, asked)
    for steps in (1, 2, 5):
        numbers = [narrow.submit(each) for each in asked]
        for _ in range(steps):
            assert narrow.step() == []
        for number in numbers:
            narrow.cancel(number)
        assert narrow.step() == []
        assert narrow.scheduler.running == len(narrow.intake) == len(narrow.open) == 0
        assert not narrow.scheduler.line
        assert narrow.scheduler.places.free == narrow.places
        assert narrow.scheduler.rows == narrow.rows
        assert all(len(lane.free) == lane.slots for lane in narrow.lanes.values())
    numbers = [narrow.submit(each) for each in asked]
    narrow.step()
    for number in numbers[::2]:
        narrow.cancel(number)
    found = finish(narrow, set(numbers[1::2]))
    assert [facts(found[number]) for number in numbers[1::2]] == expected[1::2]  # type: ignore[arg-type]


def test_lanes_are_bounded(engine: TorchEngine) -> None:
    """A client that uses many beam widths, one after another and all at once, does not fill the memory."""
    asked = [Request((5, 9, 14, EOS), DecodeConfig(beam=beam, max_extra=1)) for beam in range(1, 2 * LANES)]
    many = TorchEngine(engine.model, SPECIAL)
    one_by_one = [answers(many, [each])[0] for each in asked]
    assert len(many.lanes) == len(many.slots) == LANES
    assert answers(many, asked) == one_by_one
    assert len(many.lanes) == len(many.slots) == LANES


def test_only_an_exact_engine_can_be_watched(engine: TorchEngine) -> None:
    with pytest.raises(HarkError, match="float32"):
        TorchEngine(engine.model, SPECIAL, precision="bfloat16", watch=Watch())


def test_batched_steps_give_nearly_the_same(engine: TorchEngine) -> None:
    """As on a GPU, all sentences in one step: without blocks, the last bits may differ."""
    chance = random.Random(4)
    crowd = [
        Request(
            (*(chance.randrange(4, 40) for _ in range(chance.randint(0, 12))), EOS),
            DecodeConfig(max_extra=3, min_length=2),
        )
        for _ in range(20)
    ]
    together = TorchEngine(engine.model, SPECIAL)
    together.exact = False
    for ours, theirs in zip(answers(together, crowd), answers(engine, crowd), strict=True):
        assert [tokens for tokens, *_ in ours] == [tokens for tokens, *_ in theirs]
        assert [score for _, _, score, _ in ours] == pytest.approx([score for _, _, score, _ in theirs], abs=1e-4)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request(()), "no tokens"),
        (Request((4,) * 65), "65 tokens.*64 positions"),
        (Request((40,)), "token id out of range of the vocabulary"),
        (Request((4,), prefix=(40,)), "token id out of range of the vocabulary"),
        (Request((4,), prefix=(EOS,)), "contains EOS"),
        (Request((4,), banned=(99,)), "banned token id out of range of the vocabulary"),
        (Request((4,), banned=range(40)), "every token is banned"),
        (Request((4,), DecodeConfig(beam=200)), "beam 200 exceeds"),
    ],
)
def test_invalid_requests_are_refused(engine: TorchEngine, request_: Request, message: str) -> None:
    with pytest.raises(UserError, match=message):
        list(engine.run([request_]))


def test_bfloat16_on_a_cpu() -> None:
    """Roughly the same, for a model without close decisions."""
    model = build()
    exact, rough = TorchEngine(model, SPECIAL), TorchEngine(model, SPECIAL, precision="bfloat16")
    request = Request((5, 9, 14, 30, EOS), DecodeConfig(max_extra=3))
    (ours,), (found,) = dict(exact.run([request]))[0], dict(rough.run([request]))[0]
    assert found.tokens == ours.tokens
    assert found.log_prob == pytest.approx(ours.log_prob, rel=0.03)
    assert found.log_prob != ours.log_prob
    assert model.output_weight.dtype == torch.float32
    rough.close()


def test_an_engine_that_nobody_uses_is_freed_at_once() -> None:
    """On a GPU, weights and caches of engines that wait for the garbage collector would fill the memory."""
    engine = TorchEngine(lively(), SPECIAL)
    engine.submit(Request([5, 9, EOS]))
    engine.step()
    left = [weakref.ref(each) for each in (engine, engine.model, engine.context, *engine.lanes.values())]
    gc.disable()
    try:
        del engine
        assert [each() for each in left] == [None] * 4
    finally:
        gc.enable()


def test_closing_in_the_middle_of_the_work_frees_all_of_it() -> None:
    engine = TorchEngine(lively(), SPECIAL)
    number = engine.submit(Request([5, 9, EOS]))
    engine.step()
    left = [weakref.ref(each) for each in (engine.context, *engine.lanes.values())]
    engine.close()
    assert [each() for each in left] == [None] * 2
    assert engine.scheduler.places.free == engine.places
    assert all(answered != number for answered, _ in engine.step())
