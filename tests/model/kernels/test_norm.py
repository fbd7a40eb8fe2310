"""The residual connection in one pass against PyTorch's own layer norm, run by Triton's interpreter."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

norm = pytest.importorskip("hark.model.kernels.norm", reason="Triton is not installed", exc_type=ImportError)

EPS = 1e-5


def draw(n: int, width: int) -> tuple[list[Tensor], Tensor]:
    x, s, upstream = torch.randn(3, n, width).unbind(0)
    return [x, s, 1 + 0.3 * torch.randn(width), 0.3 * torch.randn(width)], upstream


def kept(seed: Tensor, n: int, width: int, p: float) -> Tensor:
    """What dropout multiplies by, seen from outside: a norm of rows [1, 0, 0, ...] plus drops cannot tell, a gradient
    can: with equal weights the gradient of s is that of x, times it."""
    x, s = torch.randn(2, n, width).unbind(0)
    s.requires_grad_(), x.requires_grad_()
    out = norm.AddNorm.apply(x, s, torch.ones(width), torch.zeros(width), seed, p, EPS)
    dx, ds = torch.autograd.grad(out, (x, s), torch.randn(n, width))
    return ds / dx


@pytest.mark.parametrize(("n", "width"), [(1, 16), (7, 32), (9, 48), (130, 64)])
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_equals_the_plain_path(n: int, width: int, p: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(norm, "PROGRAMS", 3)  # so that each program takes several rows
    given, upstream = draw(n, width)
    seed = torch.tensor([12345])
    keep = kept(seed, n, width, p).round(decimals=4)
    results = []
    for fused in (True, False):
        x, s, weight, bias = inputs = [each.clone().requires_grad_() for each in given]
        if fused:
            out = norm.AddNorm.apply(x, s, weight, bias, seed, p, EPS)
        else:
            out = F.layer_norm(x + s * keep, (width,), weight, bias, EPS)
        results.append([out, *torch.autograd.grad(out, inputs, upstream)])
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=3e-4, rtol=1e-3)


@pytest.mark.parametrize(("n", "width"), [(1, 16), (9, 48), (130, 64)])
@pytest.mark.parametrize("around", [False, True])
def test_pre_norm_equals_the_plain_path(n: int, width: int, around: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`around`: x is used beside its norm too, as it is in a residual connection and not after the last layer."""
    monkeypatch.setattr(norm, "PROGRAMS", 3)
    (x, s, weight, bias), upstream = draw(n, width)
    results = []
    for fused in (True, False):
        inputs = x, weight, bias = [each.detach().clone().requires_grad_() for each in (x, weight, bias)]
        beside, y = (
            norm.NormBeside.apply(x, weight, bias, EPS) if fused else (x, F.layer_norm(x, (width,), weight, bias))
        )
        out = y * s + (beside.square() if around else 0)
        results.append([out, *torch.autograd.grad(out, inputs, upstream)])
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=3e-4, rtol=1e-3)


@pytest.mark.parametrize("p", [0.0, 0.4])
def test_adding_what_dropout_left(p: float) -> None:
    n, width, seed = 9, 48, torch.tensor([12345])
    keep = kept(seed, n, width, p).round(decimals=4)
    (x, s, _, _), upstream = draw(n, width)
    x, s = inputs = x.requires_grad_(), s.requires_grad_()
    out = norm.AddDropped.apply(x, s, seed, p)
    torch.testing.assert_close(out, x + s * keep, atol=1e-4, rtol=1e-4)
    dx, ds = torch.autograd.grad(out, inputs, upstream)
    torch.testing.assert_close(dx, upstream)
    torch.testing.assert_close(ds, upstream * keep, atol=1e-4, rtol=1e-4)


def test_dropout_keeps_its_share_and_is_independent() -> None:
    n, width, p = 128, 128, 0.1
    masks = [(kept(torch.tensor([seed]), n, width, p) > 0.5).double() for seed in (1, 2, 77_777_777)]
    for mask in masks:
        # Within five standard deviations.
        assert abs(mask.mean().item() - 0.9) < 5 * (0.09 / (n * width)) ** 0.5
        assert mask.mean(0).sub(0.9).abs().max() < 5 * (0.09 / n) ** 0.5
        assert mask.mean(1).sub(0.9).abs().max() < 5 * (0.09 / width) ** 0.5
        for axis in (0, 1):  # neighbours know nothing of each other
            assert abs(correlation(mask, mask.roll(1, axis))) < 5 / (n * width) ** 0.5
    assert abs(correlation(masks[0], masks[1])) < 5 / (n * width) ** 0.5
    assert abs(correlation(masks[0], masks[2])) < 5 / (n * width) ** 0.5


def correlation(a: Tensor, b: Tensor) -> float:
    return torch.corrcoef(torch.stack((a.flatten(), b.flatten())))[0, 1].item()


def test_precision_in_and_out() -> None:
    """The first layer gets float32 embeddings and gives 16 bits; gradients come back in what went in."""
    x = torch.randn(5, 32, requires_grad=True)
    s = torch.randn(5, 32).bfloat16().requires_grad_()
    out = norm.AddNorm.apply(x, s, torch.ones(32), torch.zeros(32), torch.tensor([1]), 0.0, EPS)
    out.float().sum().backward()
    assert (out.dtype, x.grad.dtype, s.grad.dtype) == (torch.bfloat16, torch.float32, torch.bfloat16)  # type: ignore[union-attr]
