"""The settings: the paper's values as defaults, and rejected values."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from hark.config import BatchConfig, Config, CorpusConfig, DataConfig, DecodeConfig, ModelConfig, TrainConfig
from hark.settings import Section, SettingError, settings_of


def test_defaults_are_the_papers_base_model() -> None:
    model = ModelConfig()
    assert (model.n_encoder_layers, model.n_decoder_layers) == (6, 6)
    assert (model.d_model, model.d_ff, model.n_heads, model.k_width, model.v_width) == (512, 2048, 8, 64, 64)
    assert (model.norm, model.activation, model.positions, model.tie) == ("post", "relu", "sinusoidal", "all")
    assert model.dropout == 0.1
    train = TrainConfig()
    assert (train.beta1, train.beta2, train.eps, train.warmup_steps) == (0.9, 0.98, 1e-9, 4000)
    assert (train.label_smoothing, train.steps, train.average_last, train.save_minutes) == (0.1, 100_000, 5, 10)
    data = DataConfig()
    assert (data.vocab_size, data.shared_vocab, BatchConfig().batch_tokens) == (37000, True, 25000)
    decode = DecodeConfig()
    assert (decode.beam, decode.alpha, decode.max_extra) == (4, 0.6, 50)


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().model.d_model = 1  # type: ignore[misc]


def test_a_whole_number_is_accepted_for_a_float() -> None:
    assert TrainConfig(save_minutes=3).save_minutes == 3.0
    assert isinstance(TrainConfig(save_minutes=3).save_minutes, float)


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        (ModelConfig, {"dropout": -0.1}, "dropout: -0.1 is not allowed; must be a number, from 0 up to"),
        (ModelConfig, {"dropout": 1.0}, "dropout: 1.0 is not allowed"),
        (ModelConfig, {"d_model": 0}, "d_model: 0 is not allowed; must be a whole number, from 1 to 65536"),
        (
            TrainConfig,
            {"seed": 10**23},
            f"seed: {10**23} is not allowed; must be a whole number, from 0 to 9223372036854775807",
        ),
        (TrainConfig, {"steps": 10**23}, "must be a whole number, 1 or more, at most 2147483647"),
        (BatchConfig, {"batch_tokens": 10**15}, "must be a whole number, from 1 to 16777216"),
        (TrainConfig, {"rate_scale": float("inf")}, "rate_scale: inf is not allowed"),
        (TrainConfig, {"rate_scale": 10**500}, "000... (501 characters) is not allowed; must be a number, more than 0"),
        (ModelConfig, {"d_model": 512.0}, "d_model: 512.0 is not allowed"),
        (ModelConfig, {"d_model": True}, "d_model: True is not allowed"),
        (ModelConfig, {"d_model": "512"}, "d_model: '512' is not allowed"),
        (
            ModelConfig,
            {"positions": "circular"},
            "must be one of sinusoidal, sinusoidal_halves",
        ),
        (ModelConfig, {"n_heads": 7}, "d_model: 512 is not divisible by n_heads 7; change one, or set d_k and d_v"),
        (ModelConfig, {"n_heads": 7, "d_k": 64}, "not divisible"),
        (ModelConfig, {"d_model": 511, "n_heads": 7}, "511 is odd"),
        (ModelConfig, {"positions": "rotary", "d_k": 7}, "d_k: 7 is odd"),
        (ModelConfig, {"relative_distance": 16}, "relative_distance: 16 is not more than half of relative_buckets 32"),
        (ModelConfig, {"source_vocab_size": 9}, "so tie = all is impossible; unset it"),
        (ModelConfig, {"attention_bias": 1}, "must be true or false"),
        (DecodeConfig, {"alpha": 6}, "from 0 to 5"),
        (BatchConfig, {"batch_tokens": 100}, "a sentence must fit in a batch"),
        (DataConfig, {"train": ["a.en"]}, "must be a list of tables"),
        (CorpusConfig, {}, "source: is empty"),
        (Config, {"model": 3}, "model: must be a table of settings"),
        (Config, {"model": ModelConfig(max_positions=100)}, "model.max_positions: 100 is less than batches.max_length"),
    ],
)
def test_invalid_values_are_rejected(section: type[Section], values: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as raised:
        section(**values)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_head_widths_are_free_if_both_are_set() -> None:
    model = ModelConfig(n_heads=7, d_k=16, d_v=24)
    assert (model.k_width, model.v_width) == (16, 24)


def test_every_setting_has_a_meaning() -> None:
    def walk(section: Section) -> None:
        for each in settings_of(section):
            if each.is_section:
                walk(each.value)
            else:
                assert each.meaning, each.name

    walk(Config())
    walk(CorpusConfig(source="a"))
