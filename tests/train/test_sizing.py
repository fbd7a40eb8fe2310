"""The default model size on a CPU, and its memory estimate."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from hark.config import BatchConfig, Config, ModelConfig, TrainConfig
from hark.model import Transformer
from hark.train import sizing
from hark.train.sizing import SMALL, count_weights, describe_cpu_cost, estimate_cpu_memory, suit_cpu


def test_the_model_is_small_unless_its_size_is_set() -> None:
    config, note = suit_cpu(Config(), {"train": {"steps": 7}, "model": {"vocab_size": 4000}})
    assert {name: getattr(config.model, name) for name in SMALL} == dict(SMALL)
    assert config.batches.batch_tokens == 2048
    assert note is not None
    assert "2 + 2 layers, width 128, batches of 2,048 tokens" in note
    assert "model.d_model=512" in note


def test_the_small_model_has_the_size_of_the_recipe_tiny() -> None:
    (recipe,) = Path(__file__).parents[2].rglob("recipes/tiny.toml")
    tree = tomllib.loads(recipe.read_text())
    assert {name: tree["model"][name] for name in SMALL} == dict(SMALL)
    assert tree["batches"]["batch_tokens"] == sizing.SMALL_BATCH


def test_explicit_settings_are_kept() -> None:
    config = Config(model=ModelConfig(dropout=0.3))
    assert suit_cpu(config, {"model": {"dropout": 0.3}}) == (config, None)
    tuned = replace(Config(), train=TrainConfig(from_="en-de"))
    assert suit_cpu(tuned, {"train": {"from": "en-de"}}) == (tuned, None)
    batches = Config(batches=BatchConfig(batch_tokens=999, max_length=99))
    assert suit_cpu(batches, {"batches": {"batch_tokens": 999}})[0].batches == batches.batches
    long = Config(model=ModelConfig(max_positions=4000), batches=BatchConfig(max_length=4000))
    assert suit_cpu(long, {"batches": {"max_length": 4000}})[0].batches.batch_tokens == 4000


def test_weights_are_counted_without_allocating_them() -> None:
    assert count_weights(ModelConfig()) == 63_082_496
    small = ModelConfig(**SMALL, vocab_size=500, tie="none", positions="learned")
    assert count_weights(small) == sum(weight.numel() for weight in Transformer(small).parameters())


@pytest.mark.parametrize(
    ("measured", "model", "tokens"),  # docs/results/logs/training/cpu-memory.txt
    [
        (0.67, {**SMALL, "vocab_size": 4000}, 2048),
        (1.47, {**SMALL, "vocab_size": 16000}, 4096),
        (4.79, {"vocab_size": 37000}, 4096),
    ],
)
def test_the_memory_estimate_is_close_to_the_measured_memory(
    measured: float, model: dict[str, int], tokens: int
) -> None:
    config = Config(model=ModelConfig(**model), batches=BatchConfig(batch_tokens=tokens))  # type: ignore[arg-type]
    assert 0.8 * measured < estimate_cpu_memory(config) / 1e9 < 1.35 * measured


def test_too_little_memory_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizing, "available_memory", lambda: 8_000_000_000)
    assert describe_cpu_cost(Config()).startswith(
        "training on CPU: 63.1M weights, about 24.9 GB of memory (8.00 GB free): not enough"
    )
    assert "lower batches.batch_tokens" in describe_cpu_cost(Config())
    small = describe_cpu_cost(suit_cpu(Config(), {})[0])
    assert small.endswith("of memory (8.00 GB free)")
    monkeypatch.setattr(sizing, "available_memory", lambda: None)
    assert describe_cpu_cost(Config()).endswith("of memory")
