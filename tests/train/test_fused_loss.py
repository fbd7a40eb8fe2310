"""The fused loss against the plain one, run by Triton's interpreter."""

import pytest
import torch

from hark.train.loss import smoothed_loss

PAD = 1
"""Unlike that of our own vocabularies: it is an argument of the kernel."""

fused = pytest.importorskip("hark.train.fused_loss", reason="Triton is not installed", exc_type=ImportError)


@pytest.mark.parametrize(("tokens", "vocabulary"), [(1, 10), (9, 64), (23, 130)])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_equals_the_plain_loss(tokens: int, vocabulary: int, smoothing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "CHUNK", 10)  # several chunks, the last one smaller
    monkeypatch.setattr(fused, "COLUMNS", 32)  # several blocks of the vocabulary
    hidden, weight = torch.randn(tokens, 8), torch.randn(vocabulary, 8)
    labels = torch.randint(0, vocabulary, (tokens,))
    labels[::4] = PAD
    results = []
    for plain in (True, False):
        h, w = hidden.clone().requires_grad_(), weight.clone().requires_grad_()
        if plain:
            loss, nll = smoothed_loss(h @ w.T, labels, smoothing, PAD)
        else:
            loss, nll = fused.projected_loss(h, w, labels, smoothing, PAD)
        results.append([loss, nll, *torch.autograd.grad(loss * 0.37, (h, w))])
    for exact, fast in zip(*results, strict=True):
        torch.testing.assert_close(fast, exact, atol=1e-5, rtol=1e-4)


def test_equals_the_plain_loss_without_gradients() -> None:
    hidden, weight, labels = torch.randn(5, 8), torch.randn(30, 8), torch.randint(2, 30, (5,))
    with torch.no_grad():
        result = fused.projected_loss(hidden, weight, labels, 0.1, PAD)
    torch.testing.assert_close(result, smoothed_loss(hidden @ weight.T, labels, 0.1, PAD))


def test_huge_logits_do_not_overflow() -> None:
    hidden, weight, labels = torch.full((3, 8), 300.0), torch.randn(30, 8), torch.randint(2, 30, (3,))
    loss, _ = fused.projected_loss(hidden, weight, labels, 0.1, PAD)
    torch.testing.assert_close(loss, smoothed_loss(hidden @ weight.T, labels, 0.1, PAD)[0])
