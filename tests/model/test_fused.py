"""A model with our kernels against the same model in PyTorch, run by Triton's interpreter: loss and gradients."""

import pytest
import torch

from hark.data.batches import PackedStream
from hark.errors import HarkError
from hark.model import Model, Transformer, kernels, new_model
from hark.model.one_stack import OneStack
from hark.text.tokenizer import PAD
from hark.train.loss import Objective
from tests.model.oracle import build, cumulative, small, stir

pytest.importorskip("triton", reason="Triton is not installed")
pytestmark = pytest.mark.usefixtures("few_programs")
ONE_LAYER = {"n_encoder_layers": 1, "n_decoder_layers": 1}
"""Enough for what does not pass from layer to layer."""


def batch(lengths: list[tuple[int, int]]) -> dict[str, PackedStream[torch.Tensor]]:
    made = {}
    for side, each in zip(("source", "target"), zip(*lengths, strict=True), strict=True):
        positions = torch.cat([torch.arange(n) for n in each])
        tokens, labels = (torch.randint(PAD + 1, 40, (len(positions),)) for _ in range(2))
        labels[-1] = PAD
        cu = cumulative(torch.tensor(each))
        made[side] = PackedStream(tokens, positions, cu, labels if side == "target" else None)
    return made


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre", "activation": "gelu", "d_k": 16, "d_v": 32},
        {"activation": "swiglu", "positions": "rotary", **ONE_LAYER},
        {"attention_bias": False, "positions": "learned", "tie": "none", **ONE_LAYER},
        {"norm_kind": "rms", **ONE_LAYER},
    ],
)
def test_loss_and_gradients_with_our_kernels_equal_pytorch(changes: dict[str, object]) -> None:
    model: Transformer = build(n_heads=2, **changes)
    streams = batch([(5, 7), (17, 20), (1, 2)] if not changes else [(5, 3), (17, 2)])
    plain = Objective(model, 0.1, 64, PAD)(streams)
    fused = Objective(model, 0.1, 64, PAD)
    # The kernels also run in float32, where rounding does not hide errors.
    fused.refresh = kernels.fuse(model, torch.float32)
    for exact, fast in zip(gradients(model, *plain), gradients(model, *fused(streams)), strict=True):
        torch.testing.assert_close(fast, exact, atol=3e-4, rtol=1e-3)


def test_a_decoder_in_the_shape_of_llama_equals_pytorch() -> None:
    torch.manual_seed(1)
    changes = {"norm": "pre", "norm_kind": "rms", "positions": "rotary", "activation": "swiglu", "n_kv_heads": 1}
    bare = {"attention_bias": False, "feed_forward_bias": False}
    model = new_model(small(shape="decoder", n_heads=2, **changes, **bare))
    stir(model)
    streams = {"target": batch([(5, 3), (17, 12)])["target"]}
    plain = Objective(model, 0.1, 64, PAD)(streams)
    fused = Objective(model, 0.1, 64, PAD)
    fused.refresh = kernels.fuse(model, torch.float32)
    for exact, fast in zip(gradients(model, *plain), gradients(model, *fused(streams)), strict=True):
        torch.testing.assert_close(fast, exact, atol=3e-4, rtol=1e-3)


def test_a_model_in_the_shape_of_t5_equals_pytorch() -> None:
    changes = {"norm": "pre", "norm_kind": "rms", "positions": "relative", "activation": "geglu", "tie": "none"}
    sizes = {"relative_buckets": 8, "relative_distance": 12, **ONE_LAYER}
    model: Transformer = build(n_heads=2, attention_bias=False, feed_forward_bias=False, **changes, **sizes)
    streams = batch([(5, 3), (17, 12)])
    plain = Objective(model, 0.1, 64, PAD)(streams)
    fused = Objective(model, 0.1, 64, PAD)
    fused.refresh = kernels.fuse(model, torch.float32)
    for exact, fast in zip(gradients(model, *plain), gradients(model, *fused(streams)), strict=True):
        torch.testing.assert_close(fast, exact, atol=3e-4, rtol=1e-3)


def test_attention_weights_are_dropped_only_in_training() -> None:
    streams = batch([(5, 3), (17, 12)])
    model = build(n_heads=2, attention_dropout=0.5)
    objective = Objective(model, 0.1, 64, PAD)
    for fused in (False, True):
        if fused:
            objective.refresh = kernels.fuse(model, torch.float32)
        assert objective.eval()(streams)[0] == objective(streams)[0]
        assert objective.train()(streams)[0] != objective(streams)[0]


@pytest.mark.parametrize("shape", ["encoder", "decoder"])
def test_models_with_a_prediction_layer_and_relative_positions_equal_pytorch(shape: str) -> None:
    torch.manual_seed(1)
    changes = {"positions": "relative", "activation": "gelu", "prediction_layer": shape == "encoder"}
    model = new_model(small(shape=shape, n_heads=2, relative_buckets=8, relative_distance=12, **changes))
    stir(model)
    streams = {"target": batch([(5, 3), (17, 12)])["target"]}
    plain = Objective(model, 0.1, 64, PAD)(streams)
    fused = Objective(model, 0.1, 64, PAD)
    fused.refresh = kernels.fuse(model, torch.float32)
    assert fused.refresh is not None
    for exact, fast in zip(gradients(model, *plain), gradients(model, *fused(streams)), strict=True):
        torch.testing.assert_close(fast, exact, atol=3e-4, rtol=1e-3)


def test_the_prediction_layer_keeps_16_bits() -> None:
    """Under autocast, PyTorch's layer norm would return float32, which the kernel of the loss refuses."""
    model = new_model(small(shape="encoder", n_heads=2, prediction_layer=True))
    kernels.fuse(model)
    assert isinstance(model, OneStack)
    with torch.autocast("cpu", torch.bfloat16):
        assert model.predicting(torch.randn(3, model.config.d_model)).dtype == torch.bfloat16


def gradients(model: Model, loss: torch.Tensor, nll: torch.Tensor) -> list[torch.Tensor]:
    return [loss, nll, *torch.autograd.grad(loss, list(model.parameters()))]


def test_refresh_updates_the_16_bit_copies() -> None:
    model: Transformer = build(n_heads=2)
    objective = Objective(model, 0.1, 64, PAD, fused=True)
    streams = batch([(5, 7)])
    before = objective(streams)[0].item()
    with torch.no_grad():
        model.encoder.layers[0].feed_forward.w_1.weight.mul_(2)  # type: ignore[union-attr]
    assert objective(streams)[0].item() != before


def test_a_model_with_an_output_bias_is_refused() -> None:
    with pytest.raises(HarkError, match="output bias"):
        Objective(build(n_heads=2, output_bias=True), 0.1, 64, PAD, fused=True)
