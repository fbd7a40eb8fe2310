"""Products with bias and ReLU against PyTorch's own, run by Triton's interpreter."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

kernels = pytest.importorskip("hark.model.kernels.linear", reason="Triton is not installed", exc_type=ImportError)


@pytest.mark.parametrize(("n", "inner", "width"), [(1, 8, 16), (70, 24, 40), (300, 16, 200)])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_equals_the_plain_path(
    n: int, inner: int, width: int, relu: bool, has_bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "PARTS", 3)  # so that each part takes several rows
    x, upstream = torch.randn(n, inner, requires_grad=True), torch.randn(n, width)
    layer = nn.Linear(inner, width, bias=has_bias)
    joined = joined_with_copies(layer, dtype=torch.float32)
    plain = layer(x)
    results = [
        [out, *torch.autograd.grad(out, [x, *layer.parameters()], upstream)]
        for out in (joined(x, relu), F.relu(plain) if relu else plain)
    ]
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=1e-4, rtol=1e-4)


def joined_with_copies(*layers: nn.Linear, dtype: torch.dtype) -> Any:
    joined = kernels.Joined(*layers, dtype=dtype)
    with torch.no_grad():
        for wide, narrow in joined.pairs:
            narrow.copy_(wide)
    return joined


@pytest.mark.parametrize(("begin", "end"), [(0, 3), (0, 1), (1, 3)])
def test_projections_side_by_side_and_parts_of_them(begin: int, end: int) -> None:
    layers = [nn.Linear(8, 5) for _ in range(3)]
    joined = joined_with_copies(*layers, dtype=torch.float32).part(begin, end)
    x = torch.randn(4, 8)
    weights = [each for layer in layers[begin:end] for each in layer.parameters()]
    outs = joined(x), torch.cat([layer(x) for layer in layers[begin:end]], dim=-1)
    for fast, exact in zip(*(torch.autograd.grad(out.square().sum(), weights) for out in outs), strict=True):
        torch.testing.assert_close(fast, exact, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(*outs)


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 1000])
def test_parts_add_up(rows: int) -> None:
    parts = torch.randn(rows, 40)
    torch.testing.assert_close(kernels.add_parts(parts), parts.sum(0), atol=1e-4, rtol=1e-4)


def test_more_axes_and_precisions() -> None:
    x, layer = torch.randn(2, 3, 8, requires_grad=True), nn.Linear(8, 5)
    y = joined_with_copies(layer, dtype=torch.bfloat16)(x)
    y.float().sum().backward()
    assert (y.shape, y.dtype) == ((2, 3, 5), torch.bfloat16)
    assert (x.grad.dtype, layer.weight.grad.dtype) == (torch.float32, torch.float32)  # type: ignore[union-attr]
    torch.testing.assert_close(y.float(), layer(x), atol=0.1, rtol=0.02)
