"""Models of one stack: what a position sees, in every layout and with every option."""

import pytest
import torch
from torch import Tensor

from hark.config import ModelConfig, Shape
from hark.model import Layout, OneStack, new_model
from hark.model.patterns import packed_positions
from hark.model.positions import Relative
from tests.model.oracle import small, stir

LENGTHS = torch.tensor([5, 1, 9, 3])
OPTIONS = {
    "gpt": {"norm": "pre", "positions": "learned", "activation": "gelu_tanh"},
    "llama": {
        "norm": "pre", "norm_kind": "rms", "positions": "rotary", "activation": "swiglu", "n_kv_heads": 2,
        "attention_bias": False, "feed_forward_bias": False, "tie": "none", "rotary_base": 500.0,
    },
    "alibi": {"positions": "alibi", "n_heads": 8},
    "relative": {"positions": "relative", "relative_buckets": 4, "relative_distance": 5},
    "bert": {"positions": "learned", "embedding_norm": True, "prediction_layer": True, "output_bias": True},
}  # fmt: skip


def built(shape: Shape, **options: object) -> OneStack:
    model = new_model(small(shape=shape, **options)).eval()
    assert isinstance(model, OneStack)
    stir(model)
    if isinstance(model.target_positions, Relative):
        torch.nn.init.normal_(model.target_positions.weight)
    return model


def sentences(seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(40, (int(length),), generator=generator) for length in LENGTHS]


def packed(model: OneStack, texts: list[Tensor]) -> tuple[Tensor, Layout]:
    cu = torch.tensor([0, *torch.tensor([len(text) for text in texts]).cumsum(0)]).int()
    tokens = torch.cat(texts)
    positions = packed_positions(cu, len(tokens))
    return tokens, model.packed_layout({"target": cu}, {"target": positions}, 16)


@pytest.mark.parametrize("shape", ["decoder", "encoder"])
@pytest.mark.parametrize("options", OPTIONS)
def test_all_layouts_agree(shape: Shape, options: str) -> None:
    model = built(shape, **OPTIONS[options])
    texts = sentences()
    tokens, layout = packed(model, texts)
    together = model(tokens, layout)
    weights: list[Tensor] = []
    observed = model(tokens, layout.observed({model.name: weights.append}))
    rows = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)
    padded = model(rows, model.padded_layout({"target": LENGTHS}))
    alone = torch.cat(
        [model(text[None], model.padded_layout({"target": torch.tensor([len(text)])}))[0] for text in texts]
    )
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(observed, alone, atol=1e-5, rtol=1e-4)
    real = torch.cat([row[: int(length)] for row, length in zip(padded, LENGTHS, strict=True)])
    torch.testing.assert_close(real, alone, atol=1e-5, rtol=1e-4)
    assert len(weights) == 2


@pytest.mark.parametrize(("shape", "sees_later"), [("decoder", False), ("encoder", True)])
def test_only_an_encoder_sees_later_tokens(shape: Shape, sees_later: bool) -> None:
    model = built(shape)
    text = sentences()[2]
    changed = text.clone()
    changed[6] = (text[6] + 1) % 40
    before, after = (model(each, packed(model, [each])[1]) for each in (text, changed))
    assert torch.equal(before[:6], after[:6]) != sees_later
    assert not torch.equal(before[6:], after[6:])


def test_shared_keys_and_values_equal_repeated_ones() -> None:
    shared, whole = (built("decoder", positions="rotary", n_kv_heads=heads) for heads in (2, 4))
    values = shared.state_dict()
    for name, weight in values.items():
        if ".w_k." in name or ".w_v." in name:
            values[name] = weight.unflatten(0, (2, 8)).repeat_interleave(2, 0).flatten(0, 1)
    whole.load_state_dict(values)
    tokens, layout = packed(shared, sentences())
    torch.testing.assert_close(shared(tokens, layout), whole(tokens, layout), atol=1e-5, rtol=1e-4)


def test_alibi_has_the_slopes_of_the_paper() -> None:
    bias_HTS = built("decoder", positions="alibi", n_heads=8).target_positions.bias(4)
    assert bias_HTS is not None
    assert (-bias_HTS[:, 1, 0]).tolist() == [2.0**-i for i in range(1, 9)]
    assert bias_HTS[0, 3].tolist() == [-1.5, -1.0, -0.5, 0.0]
    # Of twelve heads, eight have those slopes, and four lie between those of sixteen.
    odd = built("decoder", positions="alibi", n_heads=12, d_model=48).target_positions.bias(2)
    assert odd is not None
    torch.testing.assert_close(-odd[8:, 1, 0], torch.tensor([2.0**-each for each in (0.5, 1.5, 2.5, 3.5)]))


def test_every_weight_takes_part() -> None:
    for options in OPTIONS.values():
        model = built("decoder", **options)
        tokens, layout = packed(model, sentences())
        model(tokens, layout).square().sum().backward()
        assert [name for name, weight in model.named_parameters() if weight.grad is None] == []


def test_the_paper_is_the_default() -> None:
    assert ModelConfig().shape == "encoder-decoder"
