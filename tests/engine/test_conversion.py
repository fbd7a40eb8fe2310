"""Conversion to CTranslate2: the same numbers for all model settings."""

from dataclasses import replace
from typing import Any

import ctranslate2  # type: ignore[import-untyped]
import numpy as np
import pytest

from hark.config import ModelConfig, Positions
from hark.engine.conversion import convert, sinusoids
from hark.engine.interface import AlignmentHeads
from hark.errors import UserError
from hark.model import Transformer, positions, stacks_of
from hark.text.tokenizer import SPECIAL
from hark.weights import restore, store
from tests.engine.oracle import log_probs, random_model, weights_of

SMALL = ModelConfig(
    d_model=24, d_ff=40, n_heads=4, n_encoder_layers=2, n_decoder_layers=2, vocab_size=40, max_positions=32
)
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre-norm": {"norm": "pre"},
    "gelu": {"activation": "gelu"},
    "swiglu": {"activation": "swiglu", "norm": "pre"},
    "learned": {"positions": "learned"},
    "rotary": {"positions": "rotary"},
    "no positions": {"positions": "none"},
    "no bias": {"attention_bias": False},
    "narrow heads": {"d_k": 3, "d_v": 3},
    "wide heads": {"d_k": 10, "d_v": 10},
    "wider values": {"d_k": 4, "d_v": 9, "positions": "rotary"},
    "wider keys": {"d_k": 8, "d_v": 5, "attention_bias": False},
    "tied target": {"tie": "target", "source_vocab_size": 30},
    "nothing tied": {"tie": "none", "source_vocab_size": 50},
    "nothing tied, one vocabulary": {"tie": "none"},
    "marian": {"activation": "swish", "positions": "sinusoidal_halves", "output_bias": True},
    "m2m100": {"norm": "pre", "positions": "sinusoidal_t2t", "position_offset": 2, "max_positions": 40},
    "mbart": {"norm": "pre", "activation": "gelu", "positions": "learned", "embedding_norm": True},
    "unscaled": {"scale_embedding": False},
    "other norms and rotations": {"norm_eps": 1e-2, "positions": "rotary", "rotary_base": 50.0},
    "uneven stacks": {"n_encoder_layers": 3, "n_decoder_layers": 1},
}
PAIRS = [([5, 6, 7, 8, 3], [11, 12, 13]), ([9, 10, 3], [14, 15, 16, 17, 18, 19]), ([3], [])]


def translator(files: dict[str, bytes], compute_type: str) -> Any:
    return ctranslate2.Translator("test", compute_type=compute_type, intra_threads=1, files=files)


def scores(files: dict[str, bytes], compute_type: str) -> list[list[float]]:
    sources, targets = ([[str(token) for token in pair[side]] for pair in PAIRS] for side in (0, 1))
    return [each.log_probs for each in translator(files, compute_type).score_batch(sources, targets)]


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_the_same_log_probabilities(changes: dict[str, Any]) -> None:
    config = replace(SMALL, **changes)
    model = random_model(config)
    found = scores(convert(weights_of(model), config, SPECIAL, stored_type="float32"), "float32")
    for (source, target), each in zip(PAIRS, found, strict=True):
        assert each == pytest.approx(log_probs(model, source, target), abs=1e-4)


@pytest.mark.parametrize("changes", [{}, {"tie": "none"}, {"activation": "swiglu", "d_k": 9, "d_v": 4}])
def test_int8_equals_ctranslate2s_own_quantisation(changes: dict[str, Any]) -> None:
    config = replace(SMALL, **changes)
    weights = weights_of(random_model(config))
    assert scores(convert(weights, config, SPECIAL, stored_type="int8"), "int8") == scores(
        convert(weights, config, SPECIAL, stored_type="float32"), "int8"
    )


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_weights_stored_in_int8_equal_quantisation_on_load(changes: dict[str, Any]) -> None:
    config = replace(SMALL, **changes)
    weights = weights_of(random_model(config))
    weights["encoder.layers.0.self_attention.w_q.weight"][3] = 0  # a row of zeros, which has no scale
    stored = store(weights, "int8")
    for alignment in (None, AlignmentHeads(1 % config.n_decoder_layers, (3, 1))):
        whole, wide = (
            convert(each, config, SPECIAL, stored_type="int8", alignment=alignment) for each in (stored, weights)
        )
        assert whole == wide
    restored = {name: restore(stored[name], stored[f"{name}.scale"]) for name in weights if f"{name}.scale" in stored}
    assert convert(stored, config, SPECIAL, stored_type="float32") == convert(
        {**weights, **restored}, config, SPECIAL, stored_type="float32"
    )


def test_a_shared_matrix_is_stored_once() -> None:
    config = replace(SMALL, vocab_size=5000)
    weights = weights_of(random_model(config))
    apart = weights_of(random_model(replace(config, tie="none")))
    one, three = (
        len(convert(weights, config, SPECIAL)["model.bin"]),
        len(convert(apart, replace(config, tie="none"), SPECIAL)["model.bin"]),
    )
    matrix = 5000 * config.d_model
    assert 2 * matrix < three - one < 2.5 * matrix


@pytest.mark.parametrize("kind", ["sinusoidal", "sinusoidal_halves", "sinusoidal_t2t"])
def test_sinusoids_equal_the_models(kind: Positions) -> None:
    config = ModelConfig(d_model=64, positions=kind, max_positions=300, position_offset=2)
    table = positions.Sinusoidal(stacks_of(config)["encoder"]).table
    assert table.shape == (300, 64)
    assert np.abs(sinusoids(config) - table.numpy()).max() < 1e-6


@pytest.mark.parametrize("layer", [0, 1])
def test_chosen_heads_come_first_and_change_nothing_else(layer: int) -> None:
    weights = weights_of(random_model(SMALL))
    plain = scores(convert(weights, SMALL, SPECIAL, stored_type="float32"), "float32")
    turned = scores(
        convert(weights, SMALL, SPECIAL, stored_type="float32", alignment=AlignmentHeads(layer, (3, 1))), "float32"
    )
    for one, other in zip(plain, turned, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"positions": "relative"}, "has relative positions"),
        ({"norm_kind": "rms"}, "has RMSNorm"),
        ({"activation": "geglu"}, "has the activation geglu"),
        ({"feed_forward_bias": False}, "without biases"),
        ({"n_kv_heads": 2}, "share keys and values"),
    ],
)
def test_what_is_not_converted_is_refused(changes: dict[str, Any], reason: str) -> None:
    config = replace(SMALL, **changes)
    with pytest.raises(UserError, match=f"{reason}.*use --engine torch"):
        convert(weights_of(Transformer(config).requires_grad_(False)), config, SPECIAL)
