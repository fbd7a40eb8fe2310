"""Stacks built from specifications: against nn.TransformerEncoder, on every backend, and the paper's two."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.errors import HarkError
from hark.model import Stack, StackSpec, Transformer, stacks_of
from hark.model.cache import Cache, CachedDecoder, Rows
from hark.model.layout import padded_text
from hark.model.patterns import Packed, Padded
from tests.model.oracle import build, copy_weights, cumulative, pack, small, stack_pairs, stir

LENGTHS_B = torch.tensor([5, 9, 1, 12])
SMALL = StackSpec(n_layers=2, d_model=32, d_ff=64, n_heads=2, k_width=16, v_width=16, dropout=0.0, max_positions=64)


def make(spec: StackSpec) -> Stack:
    stack = Stack(spec)
    stir(stack)
    return stack


def torch_twin(spec: StackSpec) -> nn.TransformerEncoder:
    """An encoder or, with a causal mask, a decoder without cross-attention: PyTorch uses one class for both."""
    layer = nn.TransformerEncoderLayer(
        spec.d_model, spec.n_heads, spec.d_ff, 0.0, spec.activation, batch_first=True, norm_first=spec.norm == "pre"
    )
    norm = nn.LayerNorm(spec.d_model) if spec.norm == "pre" else None
    return nn.TransformerEncoder(layer, spec.n_layers, norm, enable_nested_tensor=False)


@pytest.mark.parametrize(
    ("causal", "norm", "activation"), list(product([False, True], ["post", "pre"], ["relu", "gelu"]))
)
def test_one_stack_equals_nn_transformer_encoder(causal: bool, norm: str, activation: str) -> None:
    """Encoder-only (bidirectional) and decoder-only (causal) models: outputs and gradients."""
    spec = replace(SMALL, causal=causal, norm=norm, activation=activation)
    ours, theirs = make(spec), torch_twin(spec)
    copy_weights(stack_pairs(ours, theirs))
    _, pattern = padded_text(LENGTHS_B, causal=spec.causal)
    mine, other = (torch.randn(4, 12, 32).requires_grad_() for _ in range(2))
    other.data.copy_(mine.data)
    padding_BT = torch.arange(12) >= LENGTHS_B[:, None]
    mask = nn.Transformer.generate_square_subsequent_mask(12) if causal else None
    outs = [
        pack(out, LENGTHS_B)
        for out in (
            ours(mine, pattern),
            theirs(other, mask=mask, src_key_padding_mask=None if causal else padding_BT, is_causal=causal),
        )
    ]
    torch.testing.assert_close(*outs, atol=1e-5, rtol=0)
    upstream = torch.randn_like(outs[0])
    for out in outs:
        out.backward(upstream)
    torch.testing.assert_close(mine.grad, other.grad, atol=1e-5, rtol=1e-4)
    first, twin = ours.layers[0], theirs.layers[0]
    torch.testing.assert_close(
        first.feed_forward.w_1.weight.grad,  # type: ignore[union-attr]
        twin.linear1.weight.grad,  # type: ignore[union-attr]
        atol=1e-5,
        rtol=1e-4,
    )


@pytest.mark.usefixtures("few_programs")
@pytest.mark.parametrize("changes", [{}, {"causal": True, "norm": "pre", "activation": "swiglu"}], ids=str)
def test_every_backend_gives_the_same_result(changes: dict[str, object]) -> None:
    """Padded, packed, and with our kernels in Triton's interpreter: outputs and the gradients of all weights."""
    fused = pytest.importorskip("hark.model.kernels.fused", reason="Triton is not installed", exc_type=ImportError)
    spec = replace(SMALL, **changes)  # type: ignore[arg-type]
    stack, cu, x_BTD = make(spec), cumulative(LENGTHS_B), torch.randn(4, 12, 32)
    packed, x_ND = Packed(cu, cu, 12, spec.causal), pack(x_BTD, LENGTHS_B)
    _, padded = padded_text(LENGTHS_B, causal=spec.causal)
    outs: list[Tensor] = [
        pack(stack(x_BTD, padded), LENGTHS_B),
        stack(x_ND, packed),
        stack(x_ND, packed.with_ranges(len(x_ND), len(x_ND)), backend=fused.FusedBackend(stack, torch.float32)),
    ]
    upstream = torch.randn_like(x_ND)
    expected, *others = [[out, *torch.autograd.grad(out, list(stack.parameters()), upstream)] for out in outs]
    for found in others:
        for mine, exact in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, exact, atol=3e-4, rtol=1e-3)


@pytest.mark.parametrize("norm", ["post", "pre"])
@torch.no_grad()
def test_a_decoder_without_memory_runs_one_token_at_a_time(norm: str) -> None:
    model = build(norm=norm)
    model.decoder = make(replace(SMALL, causal=True, norm=norm, n_heads=4, k_width=8, v_width=8))
    decoder, cache = CachedDecoder(model), Cache.empty(model.config, 40, "cpu", torch.float32)
    tokens_BT, places_BT = torch.randint(40, (3, 6)), torch.arange(18).view(3, 6)
    positions_BT = torch.arange(6).expand(3, -1)
    x_BTD = model.embed_target(tokens_BT, positions_BT)
    expected_BTD = model.decoder(x_BTD, Padded(causal=True))
    nothing = torch.zeros(0)
    for t in range(6):
        found_RD = decoder.step(Rows(tokens_BT[:, t], positions_BT[:, t], places_BT, nothing, nothing, 0), cache)
        torch.testing.assert_close(found_RD, expected_BTD[:, t], atol=1e-5, rtol=1e-5)


def test_a_non_causal_stack_cannot_be_cached() -> None:
    model = build()
    model.decoder = Stack(SMALL)
    with pytest.raises(HarkError, match="causal"):
        CachedDecoder(model)


def test_the_papers_stacks() -> None:
    """Section 3.1, with the sizes of 3.3."""
    encoder, decoder = stacks_of(ModelConfig()).values()
    assert encoder == StackSpec()
    assert decoder == StackSpec(("self_attention", "cross_attention", "feed_forward"), causal=True)
    assert (encoder.n_layers, encoder.d_model, encoder.d_ff, encoder.n_heads) == (6, 512, 2048, 8)
    assert (encoder.k_width, encoder.v_width, encoder.norm, encoder.activation) == (64, 64, "post", "relu")


def test_weights_keep_their_names_and_order() -> None:
    """Checkpoints, optimisers and initial weights depend on both."""

    def layer(*sublayers: str) -> list[str]:
        names = []
        for name in sublayers:
            parts = ("w_1", "w_2") if name == "feed_forward" else ("w_q", "w_k", "w_v", "w_o")
            names += [f"{name}.{part}.{kind}" for part in parts for kind in ("weight", "bias")]
            names += [f"{name}_residual.norm.weight", f"{name}_residual.norm.bias"]
        return names

    model = Transformer(small(norm="pre", n_encoder_layers=1, n_decoder_layers=1))
    assert [name for name, _ in model.named_parameters()] == [
        "embedding.weight",
        *(f"encoder.layers.0.{name}" for name in layer("self_attention", "feed_forward")),
        "encoder.norm.weight",
        "encoder.norm.bias",
        *(f"decoder.layers.0.{name}" for name in layer("self_attention", "cross_attention", "feed_forward")),
        "decoder.norm.weight",
        "decoder.norm.bias",
    ]


def test_a_repeated_sublayer_is_refused() -> None:
    with pytest.raises(ValueError, match="must be distinct"):
        StackSpec(("feed_forward", "self_attention", "feed_forward"))
