"""Matrix products with bias and activation against PyTorch, run by Triton's interpreter."""

from typing import get_args

import pytest
import torch
from torch import Tensor, nn

from hark.config import Activation
from hark.model.backends import PLAIN, JoinedLinear

kernels = pytest.importorskip("hark.model.kernels.linear", reason="Triton is not installed", exc_type=ImportError)

pytestmark = pytest.mark.usefixtures("few_programs")


@pytest.mark.parametrize(("n", "inner", "width"), [(1, 8, 16), (70, 24, 40), (300, 16, 200)])
@pytest.mark.parametrize("activation", [None, *get_args(Activation)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_equals_pytorch(n: int, inner: int, width: int, activation: Activation | None, has_bias: bool) -> None:
    x, upstream = torch.randn(n, inner, requires_grad=True), torch.randn(n, width)
    gated = activation in ("swiglu", "geglu")
    layers = [nn.Linear(inner, width, bias=has_bias) for _ in range(2 if gated else 1)]
    weights = [weight for layer in layers for weight in layer.parameters()]
    results = [
        [out, *torch.autograd.grad(out, [x, *weights], upstream)]
        for (out,) in (multiply(x, *layers, activation=activation), PLAIN.project(x, *layers, activation=activation))
    ]
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=1e-4, rtol=1e-4)


def multiply(
    x: Tensor, *linears: nn.Linear, activation: Activation | None = None, dtype: torch.dtype = torch.float32
) -> list[Tensor]:
    joined = JoinedLinear(*linears, dtype=dtype)
    found = kernels.Product.apply(x.to(dtype), joined.weight, joined.bias, activation, *joined.originals)
    return list(found)


@pytest.mark.parametrize("used", [(0, 1, 2), (0, 2), (1,)], ids=str)
def test_joined_projections(used: tuple[int, ...]) -> None:
    """Also if only some are used, so that the gradients are not adjacent."""
    layers, x = [nn.Linear(8, width) for width in (5, 4, 7)], torch.randn(4, 8, requires_grad=True)
    weights = [x, *(each for layer in layers for each in layer.parameters())]
    joined, apart = multiply(x, *layers), [layer(x) for layer in layers]
    for fast, exact in zip(joined, apart, strict=True):
        torch.testing.assert_close(fast, exact)
    outs = (torch.cat([each[number] for number in used], dim=-1).square().sum() for each in (joined, apart))
    gradients = (torch.autograd.grad(out, weights, materialize_grads=True, allow_unused=True) for out in outs)
    for fast, exact in zip(*gradients, strict=True):
        torch.testing.assert_close(fast, exact, atol=1e-4, rtol=1e-4)


def test_adjacent_columns_are_joined_without_copying() -> None:
    whole = torch.randn(5, 12)
    parts = whole.split([3, 4, 5], dim=1)
    assert kernels.join(parts).data_ptr() == whole.data_ptr()
    for columns in (parts[:2], parts[::-1], [each.clone() for each in parts], [whole[:3, :6], whole[1:4, 6:]]):
        assert torch.equal(kernels.join(columns), torch.cat(list(columns), dim=1))
        assert kernels.join(columns).data_ptr() != columns[0].data_ptr()


def test_leading_axes_and_precisions() -> None:
    x, layer = torch.randn(2, 3, 8, requires_grad=True), nn.Linear(8, 5)
    (y,) = multiply(x, layer, dtype=torch.bfloat16)
    y.float().sum().backward()
    assert (y.shape, y.dtype) == ((2, 3, 5), torch.bfloat16)
    assert (x.grad.dtype, layer.weight.grad.dtype) == (torch.float32, torch.float32)  # type: ignore[union-attr]
    torch.testing.assert_close(y.float(), layer(x), atol=0.1, rtol=0.02)
