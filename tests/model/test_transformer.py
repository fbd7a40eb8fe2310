"""The whole model: against nn.Transformer, packed against padded, and the tied weights of the paper."""

import copy
from itertools import product

import pytest
import torch

from hark.model import Transformer
from tests.model.oracle import build, copy_weights, pack, ragged, small, twin, weight_pairs

LENGTHS = ([5, 9, 1, 12], [7, 3, 10, 1])
KINDS = list(product(["post", "pre"], ["relu", "gelu", "swiglu"], ["sinusoidal", "learned", "rotary", "none"]))


@pytest.mark.parametrize(("norm", "activation"), list(product(["post", "pre"], ["relu", "gelu"])))
def test_equals_nn_transformer_with_the_same_weights(norm: str, activation: str) -> None:
    ours = build(norm=norm, activation=activation)
    theirs = twin(ours.config)
    copy_weights(weight_pairs(ours, theirs))
    batch = ragged(*LENGTHS)
    layout, padding_BS = batch.padded, torch.arange(12) >= batch.source_lengths_B[:, None]
    x_source = torch.randn(4, 12, 32)
    x_target = torch.randn(4, 10, 32)

    our_memory = ours.encoder(x_source, layout.patterns["encoder"])
    our_hidden = ours.decoder(x_target, layout.patterns["decoder"], our_memory, layout.patterns["cross"])
    causal = torch.nn.Transformer.generate_square_subsequent_mask(10)
    their_memory = theirs.encoder(x_source, src_key_padding_mask=padding_BS)
    their_hidden = theirs.decoder(x_target, their_memory, tgt_mask=causal, memory_key_padding_mask=padding_BS)

    for lengths, mine, other in (
        (batch.source_lengths_B, our_memory, their_memory),
        (batch.target_lengths_B, our_hidden, their_hidden),
    ):
        torch.testing.assert_close(pack(mine, lengths), pack(other, lengths), atol=1e-5, rtol=0)

    upstream = torch.randn(int(batch.target_lengths_B.sum()), 32)
    pack(our_hidden, batch.target_lengths_B).backward(upstream)
    pack(their_hidden, batch.target_lengths_B).backward(upstream)
    our_gradients = copy.deepcopy(ours)
    their_gradients = copy.deepcopy(theirs)
    for model, like in ((our_gradients, ours), (their_gradients, theirs)):
        for into, weight in zip(model.parameters(), like.parameters(), strict=True):
            into.data = weight.grad if weight.grad is not None else torch.zeros_like(weight)
    compared = 0
    for mine, other in weight_pairs(our_gradients, their_gradients):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=1e-5)
        compared += mine.numel()
    assert compared == sum(weight.numel() for weight in theirs.parameters())


@pytest.mark.parametrize(("norm", "activation", "positions"), KINDS)
def test_packed_equals_padded_forward_and_backward(norm: str, activation: str, positions: str) -> None:
    model = build(norm=norm, activation=activation, positions=positions)
    batch = ragged(*LENGTHS)
    padded_NV = pack(model(batch.source_BS, batch.target_BT, batch.padded), batch.target_lengths_B)
    packed_NV = model(batch.source_N, batch.target_N, batch.packed)
    torch.testing.assert_close(packed_NV, padded_NV, atol=1e-5, rtol=1e-5)

    upstream = torch.randn_like(packed_NV)
    gradients = [
        torch.autograd.grad(out, list(model.parameters()), upstream, allow_unused=True)
        for out in (padded_NV, packed_NV)
    ]
    for padded, packed in zip(*gradients, strict=True):
        torch.testing.assert_close(packed, padded, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("changes", [{"d_k": 6, "d_v": 10}, {"attention_bias": False}, {"n_encoder_layers": 3}])
@pytest.mark.parametrize("layout", ["padded", "packed"])
def test_observed_equals_fast(changes: dict[str, object], layout: str) -> None:
    model, batch = build(**changes), ragged(*LENGTHS)
    tokens = (batch.source_BS, batch.target_BT) if layout == "padded" else (batch.source_N, batch.target_N)
    plain = getattr(batch, layout)
    seen: dict[str, list[torch.Tensor]] = {"encoder": [], "decoder": [], "cross": []}
    observed = plain.observed({use: sink.append for use, sink in seen.items()})
    torch.testing.assert_close(model(*tokens, observed), model(*tokens, plain), atol=1e-5, rtol=1e-5)
    assert [len(seen[use]) for use in ("encoder", "decoder", "cross")] == [len(model.encoder.layers), 2, 2]
    for weights in (weights for use in seen.values() for weights in use):
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights.sum(-1)))
        assert weights.shape[-3] == 4


def test_bf16_stays_near_float32() -> None:
    """Bound: 3% of the norm of the logits. bf16 has 8 bits, 0.4% per rounding, through 2 layers on each side."""
    model, batch = build(), ragged(*LENGTHS)
    with torch.no_grad():
        exact = model(batch.source_N, batch.target_N, batch.packed)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rough = model(batch.source_N, batch.target_N, batch.packed).float()
    error = (rough - exact).norm() / exact.norm()
    assert 0 < error < 0.03


def test_the_paper_shares_one_matrix_and_it_exists_once() -> None:
    model = Transformer(small())
    matrices = [name for name, weight in model.state_dict().items() if weight.shape == (40, 32)]
    assert matrices == ["embedding.weight"]
    assert model.output_weight is model.embedding.weight


def test_separate_vocabularies_and_untied_matrices() -> None:
    model = Transformer(small(tie="target", source_vocab_size=50))
    assert model.source_embedding is not None
    assert model.source_embedding.weight.shape == (50, 32)
    assert model.output_weight is model.embedding.weight
    free = Transformer(small(tie="none", source_vocab_size=50)).eval()
    assert free.output_weight is not free.embedding.weight
    batch = ragged(*LENGTHS, vocab_size=40)
    logits = free(batch.source_BS + 10, batch.target_BT, batch.padded)
    assert logits.shape == (4, 10, 40)
    assert logits.isfinite().all()


@pytest.mark.parametrize("tie", ["all", "none"])
def test_an_output_bias_is_added_to_the_logits(tie: str) -> None:
    torch.manual_seed(1)
    plain = Transformer(small(tie=tie)).eval()
    after = torch.rand(1)
    torch.manual_seed(1)
    model = Transformer(small(tie=tie, output_bias=True)).eval()
    assert torch.equal(after, torch.rand(1))  # it starts at zero, without drawing random numbers
    assert plain.output_bias is None
    assert model.output_bias is not None
    assert set(model.state_dict()) - set(plain.state_dict()) == {"output_bias"}
    assert model.output_bias.shape == (40,)
    batch = ragged(*LENGTHS)
    logits = plain(batch.source_N, batch.target_N, batch.packed)
    assert torch.equal(model(batch.source_N, batch.target_N, batch.packed), logits)
    with torch.no_grad():
        model.output_bias.normal_()
    found = model(batch.source_N, batch.target_N, batch.packed)
    torch.testing.assert_close(found, logits + model.output_bias)
    (gradient,) = torch.autograd.grad(found.sum(), model.output_bias)
    torch.testing.assert_close(gradient, torch.full((40,), float(len(found))))


def test_dropout_applies_to_embeddings_and_every_sublayer_only_in_training() -> None:
    model, batch = build(dropout=0.5), ragged(*LENGTHS)
    dropped: list[str] = []
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Dropout):
            assert module.p == 0.5
            module.register_forward_hook(lambda *_, name=name: dropped.append(name))
    once, again = (model(batch.source_N, batch.target_N, batch.packed) for _ in range(2))
    torch.testing.assert_close(once, again, atol=0, rtol=0)
    dropped.clear()
    model.train()
    model(batch.source_N, batch.target_N, batch.packed)
    assert (
        len(dropped) == 2 + 2 * 2 + 2 * 3
    )  # both embeddings; two sub-layers per encoder layer; three per decoder layer
    assert dropped.count("dropout") == 2


def test_embeddings_are_scaled_by_the_root_of_the_width() -> None:
    model = build(positions="none")
    tokens = torch.tensor([3, 7])
    expected = model.embedding.weight[tokens] * 32**0.5
    torch.testing.assert_close(model.embedding(tokens), expected)


def test_the_same_seed_gives_the_same_weights() -> None:
    def drawn(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return torch.cat([weight.flatten() for weight in Transformer(small()).parameters()])

    assert torch.equal(drawn(1), drawn(1))
    assert not torch.equal(drawn(1), drawn(2))


def test_initial_weights() -> None:
    model = Transformer(small(vocab_size=4000, positions="learned"))
    assert model.embedding.weight.std().item() == pytest.approx(32**-0.5, rel=0.02)
    linear = model.encoder.layers[0].feed_forward.w_1
    bound = (6 / (32 + 64)) ** 0.5
    assert 0.95 * bound < linear.weight.abs().max().item() <= bound
    assert linear.bias.count_nonzero() == 0


def test_untrained_predictions_are_near_uniform() -> None:
    """The initial loss is close to the entropy of a uniform distribution over the vocabulary."""
    model, batch = Transformer(small(vocab_size=1000)).eval(), ragged(*LENGTHS, vocab_size=1000)
    logits = model(batch.source_N, batch.target_N, batch.packed)
    loss = torch.nn.functional.cross_entropy(logits, torch.randint(1000, logits.shape[:1])).item()
    assert loss == pytest.approx(6.9, abs=1.2)
