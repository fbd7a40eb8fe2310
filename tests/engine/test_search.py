"""Beam search against a naive search, and against exhaustive search, on small vocabularies."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hark.engine.interface import Hypothesis
from hark.engine.lane_tables import Arrival
from hark.engine.search import Ended, trace_back
from hark.text.tokenizer import EOS
from tests.engine.naive import Logits, Tokens, ask, beam_search, ended_with, next_log_probs, ranked, search, stub

SEEDS = st.integers(0, 2**31)
ALPHAS = st.sampled_from([0.0, 0.2, 0.6, 1.0, 2.0, 5.0])


@st.composite
def asked(draw: st.DrawFn, width: int) -> Arrival:
    """Any search over a vocabulary of 7: three words."""
    forced = draw(st.lists(st.integers(4, 6), max_size=2))
    counted = draw(st.integers(0, len(forced)))  # at the end of `forced`, as of a branch
    max_ended = draw(st.integers(width, 2 * width))
    return ask(
        limit=draw(st.integers(len(forced) + 1, 8)),
        min_length=draw(st.sampled_from([0, 0, 2, 9])),
        prefix=len(forced) - counted,
        forced=tuple(forced),
        start=-float(counted),
        banned=tuple(draw(st.lists(st.integers(4, 5), max_size=1))),
        max_ended=max_ended,
        nbest=draw(st.integers(1, max_ended)),
        alpha=draw(ALPHAS),
    )


def assert_same(ours: list[Ended], expected: list[Hypothesis]) -> None:
    assert [(each.tokens, each.complete) for each in ours] == [(each.tokens, each.complete) for each in expected]
    assert [each.log_prob for each in ours] == pytest.approx([each.log_prob for each in expected], abs=1e-4)


@given(st.data(), st.integers(1, 4), SEEDS)
@settings(max_examples=100)
def test_search_equals_the_naive_search(data: st.DataObject, width: int, seed: int) -> None:
    """The naive search does not stop early: so early stopping changes nothing."""
    request = data.draw(asked(width))
    model = stub(seed, 7)
    assert_same(search([model], [request], width)[0], beam_search(model, request, width)[: request.nbest])


def everything(model: Logits, request: Arrival, words: range) -> list[Hypothesis]:
    """All possible outputs, ranked."""
    ended = []
    for length in range(1, request.limit + 1):
        for tokens in itertools.product((EOS, *words), repeat=length):
            if EOS in tokens[:-1] or (tokens[-1] != EOS and length < request.limit):
                continue
            total = 0.0
            for i, token in enumerate(tokens):
                total += next_log_probs(model, request, [tokens[:i]])[0, token].item()
            ended.append(ended_with(tokens, total, request))
    return ranked(ended)


@given(ALPHAS, st.integers(1, 4), st.integers(1, 5), SEEDS)
@settings(max_examples=40)
def test_a_wide_beam_equals_exhaustive_search(alpha: float, limit: int, nbest: int, seed: int) -> None:
    width = 40  # more than the possible outputs of two words and EOS
    request = ask(limit=limit, max_ended=width, nbest=nbest, alpha=alpha)
    model = stub(seed, 6)
    assert_same(search([model], [request], width)[0], everything(model, request, range(4, 6))[:nbest])


@given(st.data(), st.integers(1, 3), st.lists(SEEDS, min_size=2, max_size=4))
@settings(max_examples=40)
def test_results_are_independent_of_the_batch(data: st.DataObject, width: int, seeds: list[int]) -> None:
    models = [stub(seed, 7) for seed in seeds]
    requests = [data.draw(asked(width)) for _ in seeds]
    together = search(models, requests, width)
    assert together == [search([m], [r], width)[0] for m, r in zip(models, requests, strict=True)]


@given(st.data(), st.integers(1, 3), SEEDS, st.integers(1, 4))
@settings(max_examples=25)
def test_finished_sentences_do_not_change(data: st.DataObject, width: int, seed: int, more: int) -> None:
    request, model = data.draw(asked(width)), stub(seed, 7)
    assert search([model], [request], width, more_steps=more) == search([model], [request], width)


@given(SEEDS)
@settings(max_examples=20)
def test_a_beam_of_one_is_greedy(seed: int) -> None:
    model, tokens = stub(seed, 9), ()
    while len(tokens) < 8 and EOS not in tokens:
        tokens = (*tokens, int(next_log_probs(model, ask(), [tokens]).argmax()))
    (found,) = search([model], [ask(max_ended=1)], 1)[0]
    assert (*found.tokens, *[EOS] * found.complete) == tokens


def test_a_search_stops_when_no_live_hypothesis_can_be_better() -> None:
    """EOS is certain at the first step; otherwise a beam of 2 would wait for a second hypothesis until the limit."""
    calls = []

    def model(outputs: Sequence[Tokens]) -> torch.Tensor:
        calls.append(outputs)
        logits_WV = torch.zeros(len(outputs), 7)
        logits_WV[:, EOS] = 50.0 if not outputs[0] else -50.0
        return logits_WV

    (found,) = search([model], [ask(limit=8, max_ended=2, alpha=0.6)], 2)[0]
    assert (found.tokens, found.complete) == ((), True)
    assert len(calls) == 1  # one step


@given(st.lists(st.integers(1, 12), max_size=9), st.integers(1, 4), SEEDS)
def test_hypotheses_are_traced_back_choice_by_choice(lengths: list[int], width: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    trace_BTW = chance.integers(0, 50 * width, (3, 13, width)).astype(np.int32)
    sentences, last = chance.integers(0, 3, len(lengths)), chance.integers(0, 50 * width, len(lengths))
    expected = []
    for sentence, length, choice in zip(sentences, lengths, last, strict=True):
        choices = [int(choice)]
        for position in range(length - 1, 0, -1):
            choices.append(int(trace_BTW[sentence, position, choices[-1] % width]))
        expected.append(tuple(each // width for each in reversed(choices)))
    complete = chance.random(len(lengths)) < 0.5
    found = trace_back(trace_BTW, sentences, np.array(lengths, np.int64), last, complete)
    assert found == [tokens[:-1] if whole else tokens for tokens, whole in zip(expected, complete, strict=True)]
