"""Constraints on tokens, and sampling."""

from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hark.decode.rules import draw, forbid, force
from hark.decode.search import candidates, init
from hark.decode.state import Beams, Sampling
from hark.text.tokenizer import BOS, EOS
from tests.decode.naive import FORBIDDEN, ask, params_of

DRAWS = 4000


@cache
def at_start() -> Beams:
    """As many searches at their start; `draw` does not change them."""
    return init(params_of([ask()] * DRAWS), 1, 1, BOS)


def shares(logits_V: Tensor, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> Tensor:
    """The frequency of each token, for random numbers evenly spaced between 0 and 1."""
    drawn_BT = (torch.arange(DRAWS, dtype=torch.float64)[:, None] + 0.5) / DRAWS
    settings = (torch.full((DRAWS,), temperature), torch.full((DRAWS,), top_k), torch.full((DRAWS,), top_p))
    found = draw(logits_V.expand(DRAWS, -1), at_start(), Sampling(drawn_BT, *settings))
    log_prob = logits_V.log_softmax(-1)[found.tokens_BC[:, 0]]
    torch.testing.assert_close(found.log_prob_BC[:, 0], log_prob)  # the model's, whatever the settings
    assert bool((found.log_prob_BC[:, 1] == -torch.inf).all())
    return torch.bincount(found.tokens_BC[:, 0], minlength=len(logits_V)) / DRAWS


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.0])
def test_samples_follow_the_probabilities(temperature: float) -> None:
    logits = torch.randn(12)
    expected = (logits / temperature).softmax(-1)
    torch.testing.assert_close(shares(logits, temperature), expected, atol=1.5 / DRAWS, rtol=0)


@given(st.integers(1, 12), st.floats(0.05, 1.0), st.integers(0, 999))
@settings(max_examples=30)
def test_only_the_likeliest_tokens_are_sampled(top_k: int, top_p: float, seed: int) -> None:
    logits = torch.randn(12, generator=torch.Generator().manual_seed(seed))
    p, order = logits.softmax(-1).sort(descending=True)
    p = p[:top_k] / p[:top_k].sum()
    count = next(n for n in range(1, top_k + 1) if p[:n].sum() >= top_p - 1e-6 or n == top_k)
    expected = torch.zeros(12)
    expected[order[:count]] = p[:count] / p[:count].sum()
    torch.testing.assert_close(shares(logits, 1.0, top_k, top_p), expected, atol=1.5 / DRAWS, rtol=0)


def test_forbidden_tokens_are_never_candidates() -> None:
    params = params_of([ask(banned=(5, 7)), ask(min_length=1)])
    beams = init(params, 2, 2, BOS)
    logits = forbid(torch.randn(2, 2, 9), beams, params, FORBIDDEN, EOS)
    assert logits[0].isinf().nonzero()[:, 1].tolist() == [0, 1, 2, 5, 7] * 2
    assert logits[1].isinf().nonzero()[:, 1].tolist() == [0, 1, 2, EOS] * 2
    found = candidates(logits, beams.log_prob_BW)
    torch.testing.assert_close(found.log_prob_BC[0].exp().sum(), torch.tensor(1.0))  # all four remaining tokens


def test_a_forced_token_is_the_only_candidate() -> None:
    params = params_of([ask(forced=(6,), start=-1.5), ask()])
    beams = init(params, 2, 2, BOS)
    free = candidates(torch.randn(2, 2, 9), beams.log_prob_BW)
    found = force(free, beams, params)
    assert found.tokens_BC[0, 0] == 6
    assert found.log_prob_BC[0].tolist() == [-1.5, *[-torch.inf] * 3]
    assert torch.equal(found.tokens_BC[1], free.tokens_BC[1])
    assert torch.equal(found.log_prob_BC[1], free.log_prob_BC[1])
