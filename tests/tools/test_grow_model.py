"""Larger models that compute the same, and symbols in a vocabulary."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tools.grow_model import add_symbols, deepen, widen

from hark.config import ModelConfig
from hark.errors import UserError
from hark.model import Transformer, padded_layout
from hark.model.weights import build_model
from hark.models import shipped_folder
from hark.text.tokenizer import Tokenizer

SMALL = ModelConfig(
    d_model=16, d_ff=32, n_heads=2, n_encoder_layers=2, n_decoder_layers=1, vocab_size=40, norm="pre", dropout=0.0
)


@pytest.mark.parametrize(
    ("encoder", "decoder", "d_ff"), [(2, 1, 32), (3, 1, 32), (5, 1, 32), (2, 1, 33), (2, 3, 32), (3, 2, 48)]
)
def test_a_larger_model_computes_the_same(encoder: int, decoder: int, d_ff: int) -> None:
    torch.manual_seed(1)
    model = Transformer(SMALL).eval()
    weights = {name: weight.detach().numpy() for name, weight in model.named_parameters()}
    larger = widen(deepen(deepen(weights, "encoder", 2, encoder), "decoder", 1, decoder), d_ff)
    grown = {name: torch.from_numpy(array) for name, array in larger.items()}
    sizes = replace(SMALL, n_encoder_layers=encoder, n_decoder_layers=decoder, d_ff=d_ff)
    deeper = build_model(sizes, grown, "grown")
    assert (len(deeper.encoder.layers), len(deeper.decoder.layers)) == (encoder, decoder)
    source_BS, target_BT = torch.randint(4, 40, (2, 7)), torch.randint(4, 40, (2, 5))
    layout = padded_layout(torch.tensor([7, 7]), torch.tensor([5, 5]))
    with torch.no_grad():
        torch.testing.assert_close(deeper(source_BS, target_BT, layout), model(source_BS, target_BT, layout))


def test_smaller_models_are_refused() -> None:
    with pytest.raises(UserError, match="has 2 already"):
        deepen({}, "encoder", 2, 1)
    with pytest.raises(UserError, match="has 32 already"):
        widen({"encoder.layers.0.feed_forward.w_1.weight": np.zeros((32, 16), np.float32)}, 16)


def test_symbols_are_single_pieces_and_the_rest_stays() -> None:
    model = (Path(shipped_folder()) / "seven" / "tokenizer.model").read_bytes()
    before, after = Tokenizer(model), Tokenizer(add_symbols(model, ["formal", "informal"]))
    assert after.vocab_size == before.vocab_size
    (formal, informal, plain) = after.encode(["<formal> Could you help me?", "<informal> Hi", "Could you help me?"])
    assert formal == [after.vocab_size - 1, *plain]
    assert informal[0] == after.vocab_size - 2
    assert plain == before.encode(["Could you help me?"])[0]
