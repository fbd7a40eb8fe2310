"""The settings of published OPUS-MT models, from a table of facts in their config.json files."""

import math
from pathlib import Path
from typing import Any

import pytest

from hark.exchange.foreign import weight_shapes
from hark.exchange.huggingface_settings import BIAS, default_languages, layer_names, model_config

LINES = (Path(__file__).parent / "data" / "opus_mt.tsv").read_text().splitlines()
ROWS = [line.split("\t") for line in LINES if not line.startswith(("#", "name"))]
SETTINGS: dict[str, Any] = {
    "model_type": "marian", "d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "dropout": 0.1,
    "activation_function": "swish", "scale_embedding": True, "max_position_embeddings": 512, "eos_token_id": 0,
    "normalize_before": False, "normalize_embedding": False, "static_position_embeddings": True,
}  # fmt: skip


@pytest.mark.parametrize(("name", "size", "pad"), [row[:3] for row in ROWS], ids=[row[0] for row in ROWS])
def test_published_settings_are_read(tmp_path: Path, name: str, size: str, pad: str) -> None:
    assert int(pad) == int(size) - 1  # the converter appended <pad> to Marian's vocabulary
    settings = {**SETTINGS, "vocab_size": int(size), "pad_token_id": int(pad)}
    config = model_config(settings, {BIAS: None}, tmp_path, positions="sinusoidal_halves", vocab_size=int(size))  # type: ignore[dict-item]
    assert (config.activation, config.output_bias, config.scale_embedding, config.norm) == ("swish", True, True, "post")
    shapes = weight_shapes(config)
    in_layers = 6 * (4 * 513 * 512 + 2 * 512 * 2048 + 2560 + 2 * 1024)
    in_layers += 6 * (8 * 513 * 512 + 2 * 512 * 2048 + 2560 + 3 * 1024)
    assert sum(math.prod(shape) for shape in shapes.values()) == int(size) * 513 + in_layers
    assert {f"{ours}.{part}" for ours, _ in layer_names(config) for part in ("weight", "bias")} == set(shapes) - {
        "embedding.weight",
        "output_bias",
    }
    _, _, source, target = name.split("-")
    assert default_languages(tmp_path, {"_name_or_path": f"Helsinki-NLP/{name}"}) == ((source,), (target,))


def test_the_table_has_ten_models_or_more() -> None:
    assert len({row[0] for row in ROWS}) >= 10
