"""Attention patterns: every kernel against the explicit softmax, and the explicit softmax against float64 loops."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hark.errors import HarkError
from hark.model.patterns import Observed, Packed, Padded, packed_positions, scaled_dot_product_attention, sentence_ids
from tests.model.oracle import cumulative, pack


def heads(n: int, width: int, h: int = 3) -> Tensor:
    return torch.randn(n, h, width, dtype=torch.float64, requires_grad=True)


def test_the_formula_equals_a_loop_over_queries() -> None:
    q, k, v = heads(4, 8), heads(6, 8), heads(6, 5)
    visible = torch.rand(4, 6) < 0.7
    visible[0] = True
    out, weights = scaled_dot_product_attention(q, k, v, visible)
    for head in range(3):
        for i in range(4):
            seen = [j for j in range(6) if visible[i, j]]
            exps = [math.exp((q[i, head] @ k[j, head]).item() / math.sqrt(8)) for j in seen]
            expected = sum(
                (e / sum(exps) * v[j, head] for e, j in zip(exps, seen, strict=True)), torch.zeros(5).double()
            )
            torch.testing.assert_close(out[i, head], expected)
            assert weights[head, i, ~visible[i]].count_nonzero() == 0


lengths = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=6).filter(
    lambda pairs: sum(q for q, _ in pairs) > 0 and sum(k for _, k in pairs) > 0
)


@given(lengths, st.booleans(), st.integers(0, 2**31))
@settings(max_examples=60)
def test_packed_equals_observed_with_gradients(pairs: list[tuple[int, int]], causal: bool, seed: int) -> None:
    """Any lengths, including empty sentences on either side: a query that sees no key returns zero."""
    torch.manual_seed(seed)
    q_lengths = torch.tensor([q for q, _ in pairs])
    k_lengths = q_lengths if causal else torch.tensor([k for _, k in pairs])
    pattern = Packed(cumulative(q_lengths), cumulative(k_lengths), longest=20, causal=causal)
    q, k, v = heads(int(q_lengths.sum()), 8), heads(int(k_lengths.sum()), 8), heads(int(k_lengths.sum()), 6)
    seen: list[Tensor] = []
    fast, slow = pattern(q, k, v), Observed(pattern, seen.append)(q, k, v)
    torch.testing.assert_close(fast, slow)
    upstream = torch.randn_like(fast)
    for a, b in zip(
        torch.autograd.grad(fast, (q, k, v), upstream), torch.autograd.grad(slow, (q, k, v), upstream), strict=True
    ):
        assert a.isfinite().all()
        torch.testing.assert_close(a, b)
    empty = (k_lengths == 0).repeat_interleave(q_lengths)
    assert fast[empty].count_nonzero() == 0
    torch.testing.assert_close(seen[0].sum(-1), (~empty).double().expand(3, -1))


@pytest.mark.parametrize("causal", [False, True])
def test_padded_equals_observed(causal: bool) -> None:
    q, k, v = (torch.randn(2, 7, 3, width) for width in (8, 8, 5))
    keys_BS = None if causal else torch.arange(7) < torch.tensor([[3], [7]])
    pattern = Padded(keys_BS, causal)
    torch.testing.assert_close(pattern(q, k, v), Observed(pattern, lambda _: None)(q, k, v))


def test_padded_without_padding_sees_everything() -> None:
    q, k, v = (torch.randn(2, 7, 3, 8) for _ in range(3))
    torch.testing.assert_close(Padded()(q, k, v), Observed(Padded(), lambda _: None)(q, k, v))


def test_positions_and_sentences_of_packed_slots() -> None:
    cu = torch.tensor([0, 3, 3, 5, 5])
    assert sentence_ids(cu, 5).tolist() == [0, 0, 0, 2, 2]
    assert packed_positions(cu, 5).tolist() == [0, 1, 2, 0, 1]


def test_a_bias_is_added_to_the_scores() -> None:
    """With the explicit softmax: adding log(c) to a score multiplies the odds of its key by c."""
    q, k, v = heads(1, 8), heads(2, 8), heads(2, 5)
    visible, bias = torch.ones(1, 2, dtype=torch.bool), torch.zeros(3, 1, 2).double()
    bias[:, 0, 1] = torch.tensor([1.0, 3.0, 0.5]).log()
    (_, before), (_, after) = (scaled_dot_product_attention(q, k, v, visible, each) for each in (None, bias))
    odds = [weights[:, 0, 1] / weights[:, 0, 0] for weights in (before, after)]
    torch.testing.assert_close(odds[1], odds[0] * torch.tensor([1.0, 3.0, 0.5]).double())


@given(lengths, st.booleans(), st.integers(0, 2**31))
@settings(max_examples=40)
def test_packed_with_a_bias_equals_observed(pairs: list[tuple[int, int]], causal: bool, seed: int) -> None:
    """Any lengths, with the gradient of the bias."""
    torch.manual_seed(seed)
    q_lengths = torch.tensor([q for q, _ in pairs])
    k_lengths = q_lengths if causal else torch.tensor([k for _, k in pairs])
    bias_HTS = torch.randn(3, 20, 20, dtype=torch.float64, requires_grad=True)
    pattern = Packed(cumulative(q_lengths), cumulative(k_lengths), 20, causal, bias_HTS)
    q, k, v = heads(int(q_lengths.sum()), 8), heads(int(k_lengths.sum()), 8), heads(int(k_lengths.sum()), 6)
    same_with_gradients(pattern, q, k, v, bias_HTS)


@pytest.mark.parametrize("shape", [(2, 3, 7, 7), (3, 7, 7), (1, 3, 1, 7), (2, 1, 7, 7)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_padded_with_a_bias_equals_observed(causal: bool, shape: tuple[int, ...]) -> None:
    bias = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    keys_BS = None if causal else torch.arange(7) < torch.tensor([[0], [5]])  # one sentence sees no key
    q, k, v = (torch.randn(2, 7, 3, width, dtype=torch.float64, requires_grad=True) for width in (8, 8, 5))
    same_with_gradients(Padded(keys_BS, causal, bias), q, k, v, bias)


def same_with_gradients(pattern: Padded | Packed, q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> None:
    fast, slow = pattern(q, k, v), Observed(pattern, lambda _: None)(q, k, v)
    torch.testing.assert_close(fast, slow)
    upstream, inputs = torch.randn_like(fast), (q, k, v, bias)
    for a, b in zip(*(torch.autograd.grad(out, inputs, upstream) for out in (fast, slow)), strict=True):
        assert a.isfinite().all()
        torch.testing.assert_close(a, b)


def test_a_bias_by_positions_is_the_same_packed_and_padded() -> None:
    """ALiBi (Press et al., 2022): each head lowers the scores of distant keys with its own slope."""
    distance_TS = (torch.arange(9)[:, None] - torch.arange(9)).double()
    alibi_HTS = -(2.0 ** -torch.arange(1, 4))[:, None, None].double() * distance_TS.abs()
    lengths_B = torch.tensor([4, 9, 1])
    q, k, v = (torch.randn(3, 9, 3, 8, dtype=torch.float64) for _ in range(3))
    cu = cumulative(lengths_B)
    padded_BTHK = Padded(torch.arange(9) < lengths_B[:, None], bias_BHTS=alibi_HTS)(q, k, v)
    packed_NHK = Packed(cu, cu, 9, bias_HTS=alibi_HTS)(*(pack(x, lengths_B) for x in (q, k, v)))
    torch.testing.assert_close(packed_NHK, pack(padded_BTHK, lengths_B))


def test_kernels_without_support_for_a_bias_refuse_it() -> None:
    cu = torch.tensor([0, 3], dtype=torch.int32)
    pattern = Packed(cu, cu, 3, bias_HTS=torch.zeros(2, 3, 3))
    with pytest.raises(HarkError, match="bias"):
        pattern.flash(*torch.randn(3, 3, 2, 8))
    pytest.importorskip("triton", reason="Triton is not installed")
    with pytest.raises(HarkError, match="bias"):
        pattern.with_ranges(3, 3)
