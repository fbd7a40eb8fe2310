"""The layers of Table 1, and what is counted and measured of them."""

import math
from collections.abc import Callable

import pytest
import torch

from hark.model.patterns import scaled_dot_product_attention
from hark.reproduce.layer_types import (
    LAYER_TYPES,
    Convolution,
    FusedAttention,
    Recurrent,
    RestrictedAttention,
    StepByStepAttention,
    count_flops,
    fit_exponent,
    graph_depth,
    name_law,
    path_length,
    reaches,
    saved_bytes,
    time_pass,
)

KINDS = {each.name: each for each in LAYER_TYPES}


@pytest.mark.parametrize(("n", "r"), [(16, 4), (13, 4), (5, 8), (33, 6)])
def test_restricted_attention_sees_its_neighbourhood_only(n: int, r: int) -> None:
    x = torch.randn(n, 6, dtype=torch.float64)
    at = torch.arange(n)
    near = (at[:, None] - at).abs() <= r // 2
    expected, _ = scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], near)
    assert torch.allclose(RestrictedAttention(r)(x), expected.squeeze(1))


def test_both_kinds_of_attention_are_the_same() -> None:
    x = torch.randn(9, 8)
    assert torch.allclose(StepByStepAttention()(x), FusedAttention()(x), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "law"),
    [
        ("self-attention", lambda _: 1),
        ("recurrent", lambda n: n),
        ("convolutional", lambda n: {4: 2, 9: 2, 10: 3, 27: 3, 28: 4}[n]),  # the least L with 3^L >= n
        ("restricted self-attention", lambda n: -(-(n - 1) // 2)),  # two positions per layer
    ],
)
def test_path_lengths_follow_the_paper(name: str, law: Callable[[int], int]) -> None:
    sizes = (4, 9, 10, 27, 28)
    assert [path_length(KINDS[name], n, 3, 4) for n in sizes] == [law(n) for n in sizes]


def test_a_gradient_shows_whether_a_position_is_reached() -> None:
    assert reaches(Convolution(3).double(), 3, 3)
    assert not reaches(Convolution(3).double(), 4, 3)


def test_only_the_recurrent_layer_is_sequential() -> None:
    for name, kind in KINDS.items():
        depths = [graph_depth(kind.stacked(4, 4, 0), torch.randn(n, 4, requires_grad=True)) for n in (4, 8, 16)]
        if name == "recurrent":
            assert depths[2] - depths[1] == 2 * (depths[1] - depths[0]) > 0
        else:
            assert len(set(depths)) == 1, name


def test_operations_are_counted() -> None:
    assert count_flops(StepByStepAttention(), torch.randn(10, 6)) == 2 * 2 * 10 * 10 * 6
    assert count_flops(Convolution(6), torch.randn(10, 6)) == 2 * 3 * 10 * 6 * 6


def test_the_fused_kernel_keeps_no_weights() -> None:
    x = torch.randn(256, 8, requires_grad=True)
    weights = 256 * 256 * 4
    assert saved_bytes(StepByStepAttention(), x) >= weights
    assert saved_bytes(FusedAttention(), x) < weights / 2


def test_a_pass_is_timed_forward_and_backward() -> None:
    x = torch.randn(4, 3, requires_grad=True)
    layer = Recurrent(3)
    assert time_pass(layer, x, repeats=2) > 0
    assert x.grad is not None
    assert all(weight.grad is not None for weight in layer.parameters())


def test_an_exponent_ignores_constant_costs_of_small_sizes() -> None:
    assert fit_exponent([(n, 3.0 * n**2) for n in (16, 32, 64, 128)]) == pytest.approx(2.0)
    with_constant = [(n, 1e4 + n**2) for n in (16, 32, 2048, 4096)]
    assert fit_exponent(with_constant) == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize(
    ("values", "law"),
    [
        ([7, 7, 7, 7, 7], "O(1)"),
        ([2, 3, 4, 4, 5], "O(log n)"),
        ([math.ceil((n - 1) / 4) for n in (8, 16, 32, 64, 128)], "O(n)"),
        ([5 * n + 3 for n in (8, 16, 32, 64, 128)], "O(n)"),
        ([n * n for n in (8, 16, 32, 64, 128)], "O(n²)"),
    ],
)
def test_the_law_of_a_count_is_named(values: list[int], law: str) -> None:
    assert name_law(list(zip((8, 16, 32, 64, 128), values, strict=True))) == law
