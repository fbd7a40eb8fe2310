"""The bookkeeping kernels against the plain functions, in Triton's interpreter, for any state and candidates."""

import random
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.engine.lane import DecodeContext, Lane
from hark.engine.lane_tables import Arrival, LaneShape
from hark.engine.rules import forbid
from hark.engine.search import candidates
from hark.model.cache import Cache, CachedDecoder
from hark.text.tokenizer import EOS, SPECIAL
from tests.engine.naive import FORBIDDEN, ask
from tests.model.oracle import build

fast = pytest.importorskip("hark.engine.bookkeeping_kernels", reason="Triton is not installed", exc_type=ImportError)

VOCABULARY, SLOTS, COLUMNS = 9, 3, 128


@cache
def decoder() -> CachedDecoder:
    return CachedDecoder(build())


def lane(width: int, keep: int, arrivals: list[Arrival]) -> Lane:
    room = Cache.empty(decoder().model.config, 4000, "cpu", torch.float32)
    context = DecodeContext(decoder(), room, candidates, SPECIAL, exact=False, recorder=None)
    made = Lane(context, LaneShape(width, keep, COLUMNS, forced=16, banned=16, sampled=False), SLOTS)
    made.admit(arrivals)
    return made


def some_arrival(chance: random.Random, keep: int, number: int) -> Arrival:
    forced = tuple(chance.randrange(4, 9) for _ in range(chance.choice([0, 0, 2])))
    return ask(
        limit=len(forced) + chance.randint(1, 7),
        min_length=chance.choice([0, 2]),
        prefix=len(forced),
        forced=forced,
        banned=tuple(chance.sample(range(4, 9), chance.choice([0, 2]))),
        max_ended=chance.randint(1, keep),
        nbest=chance.randint(1, keep),
        alpha=chance.choice([0.0, 0.6, 2.0]),
        memory=1000 * number,
        memory_length=chance.randint(1, 9),
    )


def some_logits(chance: torch.Generator, width: int) -> torch.Tensor:
    logits = torch.randn(SLOTS, width, VOCABULARY, generator=chance) * 2
    logits[..., EOS] += torch.rand(SLOTS, width, generator=chance) * 4
    return logits


@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 2**31))
@settings(max_examples=3)
def test_whole_searches_step_for_step(width: int, more: int, seed: int) -> None:
    chance, keep = random.Random(seed), width + more
    arrivals = [some_arrival(chance, keep, number) for number in range(SLOTS)]
    ours, plain = lane(width, keep, arrivals), lane(width, keep, arrivals)
    which = torch.tensor([2, 0, SLOTS, 1])  # in any order, with a padding slot
    numbers = torch.Generator().manual_seed(seed)
    for _ in range(7):
        logits = torch.cat([some_logits(numbers, width), torch.zeros(1, width, VOCABULARY)])[which]
        step_plainly(plain, which, logits.clone())
        rows, log_prob = fast.prepare(ours, which)
        fast.forbid(ours, which, logits)
        fast.settle(ours, which, candidates(logits, log_prob), rows.places_RT)
        assert_same(ours, plain)


def step_plainly(plain: Lane, which: torch.Tensor, logits: torch.Tensor) -> None:
    """`Lane.step` with the given logits."""
    beams, params = plain.beams.select(which), plain.params.select(which)
    found = candidates(forbid(logits, beams, params, FORBIDDEN, EOS), beams.log_prob_BW)
    plain.context = replace(plain.context, choose=lambda *_: found)
    plain.step(which, COLUMNS, 9)


def assert_same(ours: Lane, plain: Lane) -> None:
    """Compare all visible state: hypotheses of finished sentences, and live rows of the others."""
    mine, theirs = ours.beams, plain.beams
    for slot in range(SLOTS):
        assert mine.done_B[slot] == theirs.done_B[slot]
        assert mine.n_ended_B[slot] == theirs.n_ended_B[slot]
        ended = theirs.endings.score_BF[slot] > -torch.inf
        torch.testing.assert_close(mine.endings.score_BF[slot], theirs.endings.score_BF[slot])
        for name in ("log_prob_BF", "length_BF", "choice_BF"):
            torch.testing.assert_close(
                getattr(mine.endings, name)[slot][ended], getattr(theirs.endings, name)[slot][ended]
            )
        assert mine.position_B[slot] == theirs.position_B[slot]
        if mine.done_B[slot]:
            continue
        live = theirs.log_prob_BW[slot] > -torch.inf
        torch.testing.assert_close(mine.log_prob_BW[slot], theirs.log_prob_BW[slot])
        assert torch.equal(mine.tokens_BW[slot][live], theirs.tokens_BW[slot][live])
        assert torch.equal(mine.parents_BW[slot][live], theirs.parents_BW[slot][live])
        position = int(mine.position_B[slot])
        assert torch.equal(ours.places_BWT[slot][live][:, :position], plain.places_BWT[slot][live][:, :position])
        assert torch.equal(ours.trace_BTW[slot, position][live], plain.trace_BTW[slot, position][live])


def test_rows_of_a_step() -> None:
    arrivals = [ask(memory=100, memory_length=5), ask(memory=200, memory_length=3)]
    made = lane(2, 2, arrivals)
    which = torch.tensor([0, 1, SLOTS])
    rows, log_prob = fast.prepare(made, which)
    assert rows.places_RT[:4, 0].tolist() == [105, 106, 203, 204]
    assert rows.memory_lengths_B.tolist() == [5, 3, 0]
    assert log_prob.tolist()[:2] == [[0.0, -torch.inf]] * 2


def test_supported_shapes() -> None:
    assert fast.serve(LaneShape(4, 4, 512, 0, 0, False))
    assert not fast.serve(LaneShape(1, 1, 512, 0, 0, True))
    assert not fast.serve(LaneShape(17, 17, 512, 0, 0, False))
