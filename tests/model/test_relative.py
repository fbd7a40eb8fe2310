"""Relative positions against T5 of transformers, and ALiBi in an encoder-decoder: both add to the scores."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from hark.config import DecodeConfig, Positions
from hark.engine.interface import Request
from hark.engine.torch import TorchEngine, kernels_cover
from hark.model import Transformer
from hark.model.attention import MultiHeadAttention
from hark.model.positions import Relative, relative_buckets
from hark.text.tokenizer import SPECIAL
from tests.model.oracle import build, cumulative, pack, ragged

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
SIZES = {"relative_buckets": 8, "relative_distance": 12}
T5 = {
    "positions": "relative", "norm": "pre", "norm_kind": "rms", "norm_eps": 1e-6, "attention_bias": False,
    "feed_forward_bias": False, "scale_embedding": False, "tie": "none", "d_k": 16, "d_v": 16, **SIZES,
}  # fmt: skip


def with_biases(**changes: object) -> Transformer:
    """A model whose learned biases are not zero, as they are at first."""
    model = build(**changes)
    for module in model.modules():
        if isinstance(module, Relative):
            nn.init.normal_(module.weight)
    return model


@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 12), (4, 3), (6, 20), (64, 256)])
@pytest.mark.parametrize("causal", [False, True])
def test_buckets_are_those_of_t5(buckets: int, farthest: int, causal: bool) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    ahead = torch.arange(-600, 601)
    expected = T5Attention._relative_position_bucket(ahead, not causal, buckets, farthest)
    assert torch.equal(relative_buckets(ahead, buckets, farthest, causal), expected)


def twin(model: Transformer) -> nn.Module:
    """The T5 of transformers with our weights. It does not divide scores by sqrt(d_k)."""
    config = model.config
    theirs = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=config.vocab_size, d_model=config.d_model, d_kv=config.k_width, d_ff=config.d_ff,
            num_layers=config.n_encoder_layers, num_decoder_layers=config.n_decoder_layers, num_heads=config.n_heads,
            relative_attention_num_buckets=config.relative_buckets, dropout_rate=0.0,
            relative_attention_max_distance=config.relative_distance, layer_norm_epsilon=config.norm_eps,
            feed_forward_proj="gated-gelu" if config.activation == "geglu" else "relu", tie_word_embeddings=False,
        )
    ).eval()  # fmt: skip
    theirs.lm_head.weight = nn.Parameter(torch.empty_like(theirs.lm_head.weight))  # tied, whatever the settings say
    with torch.no_grad():
        for mine, other in pairs(model, theirs):
            other.copy_(mine * scale(model, mine))
    return theirs


def scale(model: Transformer, weight: Tensor) -> float:
    """What a weight is multiplied by for T5."""
    queries = {id(layer.w_q.weight) for layer in model.modules() if isinstance(layer, MultiHeadAttention)}
    return model.config.k_width**-0.5 if id(weight) in queries else 1.0


def pairs(model: Transformer, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Each of our weights with that of T5."""
    yield model.embedding.weight, theirs.shared.weight  # type: ignore[union-attr,misc]
    assert model.projection is not None
    yield model.projection.weight, theirs.lm_head.weight  # type: ignore[union-attr,misc]
    for name, positions in (("encoder", model.source_positions), ("decoder", model.target_positions)):
        stack, other = model.stacks[name], theirs.get_submodule(name)
        first = other.block[0].layer[0].SelfAttention  # type: ignore[union-attr,index]
        yield positions.weight, first.relative_attention_bias.weight  # type: ignore[misc]
        yield stack.norm.weight, other.final_layer_norm.weight  # type: ignore[union-attr,misc]
        for layer, block in zip(stack.layers, other.block, strict=True):  # type: ignore[arg-type]
            for sublayer, part in zip(layer.sublayers, block.layer, strict=True):
                yield getattr(layer, f"{sublayer}_residual").norm.weight, part.layer_norm.weight
                ours = getattr(layer, sublayer)
                if sublayer == "feed_forward":
                    dense = part.DenseReluDense
                    gated = ours.w_gate is not None
                    yield ours.w_1.weight, (dense.wi_1 if gated else dense.wi).weight
                    yield ours.w_2.weight, dense.wo.weight
                    if gated:
                        yield ours.w_gate.weight, dense.wi_0.weight
                    continue
                attention = part.SelfAttention if sublayer == "self_attention" else part.EncDecAttention
                for mine, other_name in zip((ours.w_q, ours.w_k, ours.w_v, ours.w_o), "qkvo", strict=True):
                    yield mine.weight, getattr(attention, other_name).weight


@pytest.mark.parametrize("activation", ["relu", "geglu"])
def test_outputs_and_gradients_equal_those_of_t5(activation: str) -> None:
    model = with_biases(**T5, activation=activation)
    assert model.source_embedding is not None
    model.source_embedding.weight.data.copy_(model.embedding.weight)
    theirs, batch = twin(model), ragged([18, 5, 11], [7, 20, 1])
    mask_BS = (torch.arange(18) < batch.source_lengths_B[:, None]).long()
    expected_BTV = theirs(input_ids=batch.source_BS, attention_mask=mask_BS, decoder_input_ids=batch.target_BT).logits
    lengths = {"source": batch.source_lengths_B, "target": batch.target_lengths_B}
    padded_BTV = model(batch.source_BS, batch.target_BT, model.padded_layout(lengths))
    packed_layout = model.packed_layout(
        {name: cumulative(each) for name, each in lengths.items()}, batch.packed.positions, longest=25
    )
    packed_NV = model(batch.source_N, batch.target_N, packed_layout)
    expected_NV = pack(expected_BTV, batch.target_lengths_B)
    torch.testing.assert_close(pack(padded_BTV, batch.target_lengths_B), expected_NV, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(packed_NV, expected_NV, atol=1e-5, rtol=1e-4)
    observed_NV = model(
        batch.source_N,
        batch.target_N,
        packed_layout.observed({name: lambda _: None for name in ("encoder", "decoder")}),
    )
    torch.testing.assert_close(observed_NV, expected_NV, atol=1e-5, rtol=1e-4)

    upstream = torch.randn_like(expected_NV)
    matched = list(pairs(model, theirs))
    ours = torch.autograd.grad(packed_NV, list(model.parameters()), upstream)
    gradients = dict(zip((id(weight) for weight in model.parameters()), ours, strict=True))
    expected = torch.autograd.grad(expected_NV, [other for _, other in matched], upstream)
    for (mine, _), theirs_grad in zip(matched, expected, strict=True):
        grad = gradients[id(mine)] / scale(model, mine)
        if mine is model.embedding.weight:  # T5 has one for both sides
            grad = grad + gradients[id(model.source_embedding.weight)]
        torch.testing.assert_close(grad, theirs_grad, atol=2e-4, rtol=2e-3)
    assert len(matched) == len(ours) - 1


@pytest.mark.parametrize("positions", ["relative", "alibi"])
@torch.no_grad()
def test_the_engine_gives_the_log_probabilities_of_a_full_pass(positions: Positions) -> None:
    """Encoding, prompts that are read in one pass, steps with the cache, and scoring."""
    torch.manual_seed(1)
    model = with_biases(positions=positions, n_heads=4, **SIZES)
    assert not kernels_cover(model.config)
    engine = TorchEngine(model, SPECIAL)
    source, prefix = (7, 9, 11, 5, 30, 12, 2, 8, 3), (6, 5, 21)
    searches = [DecodeConfig(beam=beam, max_extra=12, min_length=18, alpha=0.0) for beam in (1, 3)]
    found = dict(engine.run(Request(source, each, prefix) for each in searches))
    for hypothesis, *_ in found.values():
        written = hypothesis.tokens
        assert written[:3] == prefix
        assert len(written) >= 18
        lengths = {"source": torch.tensor([len(source)]), "target": torch.tensor([len(written) + 1])}
        logits_BTV = model(
            torch.tensor([source]), torch.tensor([[SPECIAL.start, *written]]), model.padded_layout(lengths)
        )
        expected, within = [*written, SPECIAL.end], torch.arange(len(written) + 1)
        (scored,) = engine.score([(source, written)])
        assert scored == pytest.approx(logits_BTV[0].log_softmax(-1)[within, expected].tolist(), abs=1e-4)
        logits_BTV[0, :18, SPECIAL.end] = logits_BTV[0, :, [*SPECIAL.forbidden]] = -torch.inf
        searched = logits_BTV[0].log_softmax(-1)[within, expected][3 : len(written) + hypothesis.complete]
        assert hypothesis.log_prob == pytest.approx(float(searched.sum()), abs=1e-3)
