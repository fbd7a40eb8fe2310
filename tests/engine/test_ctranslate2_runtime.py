"""Conversion of CTranslate2's results: scores, length penalty, ranking, and whether the n best are certain."""

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import DecodeConfig, ModelConfig
from hark.engine.batching import CallOptions, QueuedRequest
from hark.engine.ctranslate2_runtime import REMOVED, Call, is_settled, rank, with_log_prob
from hark.engine.interface import AlignmentHeads, Hypothesis, Request, length_penalty

END = "3"


def waiting(prefix: int = 0, start: float = 0.0, **search: Any) -> QueuedRequest:
    request = Request((5, 6, 7), DecodeConfig(**search), prefix=tuple(range(4, 4 + prefix)))
    return QueuedRequest(0, request, CallOptions.of(0, request), 20, prefix, start)


def result_of(*hypotheses: tuple[list[str], float], exponent: float, attention: Any = None) -> Any:
    """A result in CTranslate2's format, scored by log-probability over length to some power."""
    names = [each for each, _ in hypotheses]
    scores = [log_prob / len(each) ** exponent for each, log_prob in hypotheses]
    found = SimpleNamespace(hypotheses=names, scores=scores, attention=attention)
    return SimpleNamespace(result=lambda: found)


def read(sentence: QueuedRequest, result: Any, exponent: float, first: list[Any] | None = None) -> list[Hypothesis]:
    alignment = AlignmentHeads.default(ModelConfig(n_decoder_layers=1))
    return Call([sentence], exponent, [result], first or [], alignment, END).read()[0]


@pytest.mark.parametrize("exponent", [1e-3, 0.6, 3.0])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
def test_scores_use_our_penalty_whatever_the_exponent(exponent: float, alpha: float) -> None:
    short, long = (["11", END], -2.0), (["11", "12", "13", END], -3.5)
    found = read(waiting(alpha=alpha), result_of(short, long, exponent=exponent), exponent)
    assert {each.tokens: each.log_prob for each in found} == {
        (11,): pytest.approx(-2),
        (11, 12, 13): pytest.approx(-3.5),
    }
    expected = {(11,): -2 / length_penalty(2, alpha), (11, 12, 13): -3.5 / length_penalty(4, alpha)}
    assert [each.tokens for each in found] == sorted(expected, key=lambda tokens: -expected[tokens])
    assert [each.score for each in found] == pytest.approx(sorted(expected.values(), reverse=True))
    assert all(each.complete for each in found)


def test_truncated_hypotheses_are_incomplete_and_removed_eos_is_dropped() -> None:
    result = result_of((["11", "12"], -1.0), (["13", END], 10 * REMOVED), exponent=1.0)
    (only,) = read(waiting(), result, 1.0)
    assert (only.tokens, only.complete) == ((11, 12), False)


def test_forced_tokens_count_in_log_prob_but_not_in_length() -> None:
    sentence = waiting(prefix=2, start=-1.5)
    (only,) = read(sentence, result_of((["4", "5", "11", END], -2.0), exponent=1.0), 1.0)
    assert only.log_prob == pytest.approx(-3.5)
    assert only.score == pytest.approx(-3.5 / length_penalty(2, sentence.request.search.alpha))


def test_attention_of_the_first_step_comes_from_the_separate_call() -> None:
    wrong, right = [[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]], [0.0, 1.0, 0.0]
    result = result_of((["11", END], -1.0), exponent=1.0, attention=[wrong])
    first = SimpleNamespace(result=lambda: SimpleNamespace(attention=[[right]]))
    (only,) = read(waiting(), result, 1.0, [first])
    assert only.attention_TS is not None
    np.testing.assert_allclose(only.attention_TS[0], right)


# Few lengths, so that several hypotheses are the longest, and more of them than a beam of 4 keeps.
lengths_and_log_probs = st.lists(st.tuples(st.sampled_from([1, 2, 6, 12]), st.floats(-3, -0.1)), min_size=4, max_size=7)


@given(lengths_and_log_probs, st.integers(1, 3), st.sampled_from([0.0, 0.6, 1.0]))
def test_settled_means_that_no_dropped_hypothesis_is_among_the_best(ended, nbest, alpha) -> None:
    sentence = waiting(beam=4, nbest=nbest, alpha=alpha)
    max_ended = sentence.options.max_ended
    everything = [
        with_log_prob(Hypothesis((9 + i,) * (length - 1), 0.0, 0.0, True), log_prob, sentence)
        for i, (length, log_prob) in enumerate(ended)
    ]
    longest = max(len(each.tokens) for each in everything)
    for kept in combinations(everything, min(max_ended, len(everything))):
        dropped = [each for each in everything if each not in kept]
        # CTranslate2 drops hypotheses less likely than all that it keeps, and never all of the longest.
        if any(drop.log_prob > keep.log_prob for drop in dropped for keep in kept):
            continue
        if max(len(each.tokens) for each in kept) < longest:
            continue
        if is_settled(rank(kept), sentence):
            best = [each.score for each in rank(everything)[:nbest]]
            assert [each.score for each in rank(kept)[:nbest]] == pytest.approx(best)
