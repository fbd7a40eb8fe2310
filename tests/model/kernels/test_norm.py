"""The fused residual connection against PyTorch's layer norm, run by Triton's interpreter."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

norm = pytest.importorskip("hark.model.kernels.norm", reason="Triton is not installed", exc_type=ImportError)

pytestmark = pytest.mark.usefixtures("few_programs")
EPS = 1e-5


def draw(n: int, width: int) -> tuple[list[Tensor], Tensor]:
    x, s, upstream = torch.randn(3, n, width).unbind(0)
    return [x, s, 1 + 0.3 * torch.randn(width), 0.3 * torch.randn(width)], upstream


def dropout_mask(seed: Tensor, n: int, width: int, p: float) -> Tensor:
    """Recover the dropout mask from the gradients: with unit weights, that of s is that of x times the mask."""
    x, s = torch.randn(2, n, width).unbind(0)
    s.requires_grad_(), x.requires_grad_()
    out = norm.AddNorm.apply(x, s, torch.ones(width), torch.zeros(width), seed, p, EPS)
    dx, ds = torch.autograd.grad(out, (x, s), torch.randn(n, width))
    return ds / dx


@pytest.mark.parametrize(("n", "width"), [(1, 16), (9, 48), (19, 64)])
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_equals_pytorch(n: int, width: int, p: float) -> None:
    values, upstream = draw(n, width)
    seed = torch.tensor([12345])
    keep = dropout_mask(seed, n, width, p).round(decimals=4)
    results = []
    for fused in (True, False):
        x, s, weight, bias = inputs = [each.clone().requires_grad_() for each in values]
        if fused:
            out = norm.AddNorm.apply(x, s, weight, bias, seed, p, EPS)
        else:
            out = F.layer_norm(x + s * keep, (width,), weight, bias, EPS)
        results.append([out, *torch.autograd.grad(out, inputs, upstream)])
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=3e-4, rtol=1e-3)


@pytest.mark.parametrize(("n", "width"), [(1, 16), (9, 48), (19, 64)])
@pytest.mark.parametrize("bypass", [False, True])
def test_pre_norm_equals_pytorch(n: int, width: int, bypass: bool) -> None:
    """`bypass`: x itself is used as well, as in a residual connection, but not after the last layer."""
    (x, s, weight, bias), upstream = draw(n, width)
    results = []
    for fused in (True, False):
        inputs = x, weight, bias = [each.detach().clone().requires_grad_() for each in (x, weight, bias)]
        residual, y = (
            norm.NormWithInput.apply(x, weight, bias, EPS) if fused else (x, F.layer_norm(x, (width,), weight, bias))
        )
        out = y * s + (residual.square() if bypass else 0)
        results.append([out, *torch.autograd.grad(out, inputs, upstream)])
    for fast, exact in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=3e-4, rtol=1e-3)


@pytest.mark.parametrize(("n", "width"), [(1, 16), (9, 48), (19, 64)])
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_rms_norm_equals_pytorch_in_float64(n: int, width: int, p: float) -> None:
    """Without a bias, the same kernels compute RMSNorm. A mean of the input shows whether it is subtracted."""
    (x, s, weight, _), upstream = draw(n, width)
    seed = torch.tensor([12345])
    keep = (dropout_mask(seed, n, width, p) > 0.5).double() / (1 - p)
    fast = with_gradients(
        lambda x, s, weight: norm.AddNorm.apply(x, s, weight, None, seed, p, EPS), [x + 2, s, weight], upstream
    )
    exact = with_gradients(
        lambda x, s, weight: F.rms_norm(x + s * keep, (width,), weight, EPS),
        [(x + 2).double(), s.double(), weight.double()],
        upstream,
    )
    same(fast, exact)


@pytest.mark.parametrize(("n", "width"), [(1, 16), (9, 48), (19, 64)])
@pytest.mark.parametrize("bypass", [False, True])
def test_pre_norm_rms_norm_equals_pytorch_in_float64(n: int, width: int, bypass: bool) -> None:
    (x, s, weight, _), upstream = draw(n, width)

    def ours(x: Tensor, weight: Tensor) -> Tensor:
        residual, y = norm.NormWithInput.apply(x, weight, None, EPS)
        return y * s + (residual.square() if bypass else 0)

    def theirs(x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (width,), weight, EPS) * s + (x.square() if bypass else 0)

    fast = with_gradients(ours, [x + 2, weight], upstream)
    same(fast, with_gradients(theirs, [(x + 2).double(), weight.double()], upstream))


def with_gradients(function: Callable[..., Tensor], values: list[Tensor], upstream: Tensor) -> list[Tensor]:
    inputs = [each.clone().requires_grad_() for each in values]
    out = function(*inputs)
    return [out, *torch.autograd.grad(out, inputs, upstream.to(out.dtype))]


def same(fast: list[Tensor], exact: list[Tensor]) -> None:
    for one, other in zip(fast, exact, strict=True):
        torch.testing.assert_close(one.double(), other, atol=3e-5, rtol=1e-4)


@pytest.mark.parametrize("p", [0.0, 0.4])
@pytest.mark.parametrize("bypass", [False, True])
@pytest.mark.parametrize("rms", [False, True])
def test_a_deferred_sum_equals_pytorch_in_float64(p: float, bypass: bool, rms: bool) -> None:
    n, width, seed = 9, 48, torch.tensor([12345])
    keep = (dropout_mask(seed, n, width, p) > 0.5).double() / (1 - p)
    values, upstream = draw(n, width)
    values = values[: 3 if rms else 4]

    def ours(x: Tensor, s: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        z, y = norm.AddNormWithSum.apply(x, s, weight, bias, seed, p, EPS)
        return y * upstream + (z.square() if bypass else 0)

    def theirs(x: Tensor, s: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        z = x + s * keep
        normed = F.rms_norm(z, (width,), weight, EPS) if rms else F.layer_norm(z, (width,), weight, bias, EPS)
        return normed * upstream + (z.square() if bypass else 0)

    fast = with_gradients(ours, values, upstream)
    same(fast, with_gradients(theirs, [each.double() for each in values], upstream))


def test_dropout_keeps_the_right_share_independently(monkeypatch: pytest.MonkeyPatch) -> None:
    n, width, p = 128, 128, 0.1
    monkeypatch.setattr(norm, "ROWS", n)  # one program; a mask depends only on seed and position
    seeds, ones = (torch.tensor([seed]) for seed in (1, 2, 77_777_777)), torch.ones(n, width)
    weight, bias, zeros = torch.ones(width), torch.zeros(width), torch.zeros(n, width)
    sums = (norm.AddNormWithSum.apply(zeros, ones, weight, bias, seed, p, EPS)[0] for seed in seeds)
    masks = [(each > 0.5).double() for each in sums]
    for mask in masks:
        # Within five standard deviations.
        assert abs(mask.mean().item() - 0.9) < 5 * (0.09 / (n * width)) ** 0.5
        assert mask.mean(0).sub(0.9).abs().max() < 5 * (0.09 / n) ** 0.5
        assert mask.mean(1).sub(0.9).abs().max() < 5 * (0.09 / width) ** 0.5
        for axis in (0, 1):  # neighbours are independent
            assert abs(correlation(mask, mask.roll(1, axis))) < 5 / (n * width) ** 0.5
    assert abs(correlation(masks[0], masks[1])) < 5 / (n * width) ** 0.5
    assert abs(correlation(masks[0], masks[2])) < 5 / (n * width) ** 0.5


def correlation(a: Tensor, b: Tensor) -> float:
    return torch.corrcoef(torch.stack((a.flatten(), b.flatten())))[0, 1].item()


def test_precision_of_outputs_and_gradients() -> None:
    """The first layer takes float32 embeddings and returns 16 bits; gradients have the precision of their inputs."""
    x = torch.randn(5, 32, requires_grad=True)
    s = torch.randn(5, 32).bfloat16().requires_grad_()
    out = norm.AddNorm.apply(x, s, torch.ones(32), torch.zeros(32), torch.tensor([1]), 0.0, EPS)
    out.float().sum().backward()
    assert (out.dtype, x.grad.dtype, s.grad.dtype) == (torch.bfloat16, torch.float32, torch.bfloat16)  # type: ignore[union-attr]
    z, y = norm.AddNormWithSum.apply(x, s, torch.ones(32), torch.zeros(32), torch.tensor([1]), 0.0, EPS)
    dx, ds = torch.autograd.grad((z + y).float().sum(), (x, s))
    assert (z.dtype, y.dtype, dx.dtype, ds.dtype) == (*2 * [torch.bfloat16], torch.float32, torch.bfloat16)
