"""Our kernels against the explicit softmax, run by Triton's interpreter: every width, tile and kind, with gradients."""

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hark.model.patterns import Observed, Packed, tiles_serve
from tests.model.oracle import cumulative

kernels = pytest.importorskip("hark.model.kernels", reason="Triton is not installed", exc_type=ImportError)

EDGES = [0, 1, 15, 16, 17, 32, 33, 64, 65, 128, 129, 200]


def check(q_lengths: list[int], k_lengths: list[int], causal: bool, k_width: int, v_width: int, heads: int = 2) -> None:
    """Outputs and gradients, on fresh random numbers, of memory that held something else before."""
    longest = max(*q_lengths, *k_lengths)
    pattern = Packed(cumulative(torch.tensor(q_lengths)), cumulative(torch.tensor(k_lengths)), longest, causal)
    q, k = (torch.randn(sum(n), heads, k_width) for n in (q_lengths, k_lengths))
    v = torch.randn(sum(k_lengths), heads, v_width)
    upstream = torch.randn(sum(q_lengths), heads, v_width)
    results: list[list[Tensor]] = []
    for attend in (pattern.by_tiles, Observed(pattern, lambda _: None)):
        inputs = [x.clone().requires_grad_() for x in (q, k, v)]
        out = attend(*inputs)
        results.append([out, *torch.autograd.grad(out, inputs, upstream)])
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize(("width", "causal"), list(product(kernels.WIDTHS, [False, True])))
def test_every_width(width: int, causal: bool) -> None:
    check([5, 17, 40, 1], [5, 17, 40, 1], causal, width, width)


@pytest.mark.parametrize("causal", [False, True])
def test_lengths_at_the_edges_of_tiles(causal: bool) -> None:
    check(EDGES, EDGES, causal, 16, 16, heads=1)


def test_attention_over_another_text() -> None:
    check(EDGES, EDGES[::-1], False, 16, 32, heads=1)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=4).filter(
        lambda pairs: all(sum(side) > 0 for side in zip(*pairs, strict=True))
    ),
    st.integers(0, 999),
)
@settings(max_examples=15)
def test_any_lengths(pairs: list[tuple[int, int]], seed: int) -> None:
    torch.manual_seed(seed)
    check([q for q, _ in pairs], [k for _, k in pairs], False, 16, 16, heads=1)


def test_only_the_tiles_that_may_be_needed_are_started() -> None:
    assert [tile for tile, _, _ in kernels.launches(16)] == [16]
    assert [(tile, below) for tile, below, _ in kernels.launches(33)] == [(16, 0), (32, 16), (64, 32)]
    assert [tile for tile, _, _ in kernels.launches(5000)] == list(kernels.TILES)


def test_without_a_gpu_they_do_not_serve() -> None:
    assert tiles_serve(64, 64) == torch.cuda.is_available()
    assert not tiles_serve(64, 48)
