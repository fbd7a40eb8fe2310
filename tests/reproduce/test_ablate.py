"""Models without an ingredient: what they compute, in training and one token at a time."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from hark.config import DecodeConfig, ModelConfig
from hark.engine.interface import Request
from hark.engine.torch import TorchEngine
from hark.model import Transformer, padded_layout
from hark.model.layers import Residual
from hark.reproduce.ablate import (
    UnscaledAttention,
    WithoutNorm,
    WithoutResidual,
    build_unscaled,
    build_without_norm,
    build_without_residuals,
)
from hark.text.tokenizer import SPECIAL

CONFIG = ModelConfig(d_model=8, d_ff=16, n_heads=2, n_encoder_layers=2, n_decoder_layers=2, vocab_size=20, dropout=0.0)
BUILDS = (build_unscaled, build_without_residuals, build_without_norm)


def logits(model: Transformer, source: list[int], target: list[int]) -> Tensor:
    layout = padded_layout(torch.tensor([len(source)]), torch.tensor([len(target)]))
    return model(torch.tensor([source]), torch.tensor([target]), layout)[0]


@pytest.mark.parametrize("build", BUILDS)
def test_names_and_shapes_of_weights_do_not_change(build: Callable[[ModelConfig], Transformer]) -> None:
    shapes = [{name: w.shape for name, w in f(CONFIG).named_parameters()} for f in (build, Transformer)]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("build", BUILDS)
def test_every_weight_gets_a_gradient(build: Callable[[ModelConfig], Transformer]) -> None:
    """A captured CUDA graph asks for the gradients of all weights."""
    model = build(CONFIG)
    assert None not in torch.autograd.grad(logits(model, [4, 5, 3], [2, 6]).sum(), list(model.parameters()))


def test_unscaled_attention_is_scaled_attention_with_larger_queries() -> None:
    plain, unscaled = Transformer(CONFIG), build_unscaled(CONFIG)
    unscaled.load_state_dict(plain.state_dict())
    before = logits(plain, [4, 5, 3], [2, 6])
    assert not torch.allclose(logits(unscaled, [4, 5, 3], [2, 6]), before)
    attentions = [each for each in unscaled.modules() if isinstance(each, UnscaledAttention)]
    assert len(attentions) == 2 + 2 * 2
    with torch.no_grad():
        for each in attentions:
            each.w_q.weight /= math.sqrt(each.k_width)
            each.w_q.bias /= math.sqrt(each.k_width)
    assert torch.allclose(logits(unscaled, [4, 5, 3], [2, 6]), before, atol=1e-6)


def test_a_sum_or_a_norm_is_left_out() -> None:
    spec, x = Transformer(CONFIG).encoder.spec, torch.randn(3, 8)
    residual, without_residual, without_norm = Residual(spec), WithoutResidual(spec), WithoutNorm(spec)
    double: Callable[[Tensor], Tensor] = lambda y: 2 * y  # noqa: E731
    assert torch.allclose(residual(x, double), residual.norm(3 * x))
    assert torch.allclose(without_residual(x, lambda y: 0 * y), torch.zeros(3, 8))
    assert torch.allclose(without_residual(x, double), residual.norm(2 * x))
    assert torch.allclose(without_norm(x, double), 3 * x)


@pytest.mark.parametrize("build", BUILDS)
def test_the_engine_decodes_it_as_it_was_trained(build: Callable[[ModelConfig], Transformer]) -> None:
    """One token at a time, with cached keys and values, equals one pass over the whole translation."""
    model = build(CONFIG).eval()
    engine = TorchEngine(model, SPECIAL)
    source = [4, 9, 11, SPECIAL.end]
    ((_, (best, *_)),) = engine.run([Request(source, DecodeConfig(beam=1, max_extra=4))])
    written = [*best.tokens, SPECIAL.end] if best.complete else list(best.tokens)
    with torch.no_grad():
        found = logits(model, source, [SPECIAL.start, *written[:-1]])
        found[:, list(SPECIAL.forbidden)] = -math.inf  # as the search does
        log_p = found.log_softmax(-1)
    expected = sum(log_p[t, token].item() for t, token in enumerate(written))
    assert best.log_prob == pytest.approx(expected, abs=1e-4)
    assert written
