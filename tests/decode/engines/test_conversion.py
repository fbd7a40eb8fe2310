"""A model as CTranslate2 sees it: the same numbers, whatever its settings."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import ctranslate2  # type: ignore[import-untyped]
import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from hark.config import ModelConfig
from hark.decode.engines.conversion import convert, quantise, read_weights, sinusoids
from hark.errors import UserError
from hark.model import positions
from tests.decode.engines.oracle import log_probs, random_model, weights_of

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
    found = scores(convert(weights_of(model), config, int8=False), "float32")
    for (source, target), each in zip(PAIRS, found, strict=True):
        assert each == pytest.approx(log_probs(model, source, target), abs=1e-4)


@pytest.mark.parametrize("changes", [{}, {"tie": "none"}, {"activation": "swiglu", "d_k": 9, "d_v": 4}])
def test_int8_is_what_ctranslate2_would_make_itself(changes: dict[str, Any]) -> None:
    config = replace(SMALL, **changes)
    weights = weights_of(random_model(config))
    assert scores(convert(weights, config, int8=True), "int8") == scores(convert(weights, config, int8=False), "int8")


def test_a_shared_matrix_is_there_once() -> None:
    config = replace(SMALL, vocab_size=5000)
    weights = weights_of(random_model(config))
    apart = weights_of(random_model(replace(config, tie="none")))
    one, three = (
        len(convert(weights, config)["model.bin"]),
        len(convert(apart, replace(config, tie="none"))["model.bin"]),
    )
    matrix = 5000 * config.d_model
    assert 2 * matrix < three - one < 2.5 * matrix


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 20))
def test_quantised_rows_are_within_half_a_step(seed: int, rows: int, columns: int) -> None:
    chance = np.random.default_rng(seed)
    matrix = (chance.normal(size=(rows, columns)) * 10.0 ** chance.integers(-6, 6, (rows, 1))).astype(np.float32)
    matrix[chance.integers(rows)] = 0
    ((whole, scale),) = quantise([matrix])
    assert np.all(np.abs(whole / scale[:, None] - matrix) <= 0.5001 / scale[:, None])
    largest = np.abs(whole.astype(int)).max(axis=1)
    assert set(largest.tolist()) <= {0, 127}


def test_many_matrices_in_blocks() -> None:
    matrices = [np.random.default_rng(i).normal(size=(i * 700 + 1, 300)).astype(np.float32) for i in range(3)]
    for matrix, (whole, scale) in zip(matrices, quantise(matrices), strict=True):
        expected = np.rint(matrix * (127 / np.abs(matrix).max(axis=1, keepdims=True)))
        assert np.abs(whole - expected).max() <= 1  # a half may be rounded either way
        assert (whole != expected).mean() < 1e-4
        assert scale == pytest.approx(127 / np.abs(matrix).max(axis=1))


def test_sinusoids_are_the_models() -> None:
    assert np.abs(sinusoids(300, 64) - positions.sinusoids(300, 64).numpy()).max() < 1e-6


@pytest.mark.parametrize("layer", [0, 1])
def test_chosen_heads_come_first_and_change_nothing_else(layer: int) -> None:
    weights = weights_of(random_model(SMALL))
    plain = scores(convert(weights, SMALL, int8=False), "float32")
    turned = scores(convert(weights, SMALL, int8=False, alignment=(layer, (3, 1))), "float32")
    for one, other in zip(plain, turned, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_weights_are_read_as_torch_reads_them(dtype: torch.dtype, tmp_path: Path) -> None:
    tensors = {"a": torch.randn(3, 5).to(dtype), "b.c": torch.randn(7).to(dtype), "d": torch.randn(()).to(dtype)}
    safetensors.torch.save_file(tensors, tmp_path / "weights", metadata={"format": "pt"})
    found = read_weights(tmp_path / "weights")
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert found[name].dtype == np.float32
        assert np.array_equal(found[name], tensor.float().numpy())


@pytest.mark.parametrize(
    "content", [b"", b"1234", b"\xff" * 100, b"\x02\0\0\0\0\0\0\0[]", b'\x07\0\0\0\0\0\0\0{"a":1}']
)
def test_a_file_that_is_no_weights_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(content)
    with pytest.raises(UserError, match="cannot be read as weights") as refused:
        read_weights(tmp_path / "weights")
    assert "\n" not in str(refused.value)
