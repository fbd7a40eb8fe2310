"""Starting a run: settings resolved from the dataset, and its verification."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hark.config import Config
from hark.errors import UserError
from hark.rundir import RunDir
from hark.train.start import open_dataset, prepared, resolve


@pytest.fixture
def resolved(settings: Callable[..., Config]) -> Callable[..., Config]:
    def make(*overrides: str) -> Config:
        config = settings(*overrides)
        return resolve(config, open_dataset(config.data))

    return make


def test_preparation_settings_come_from_the_dataset(resolved: Callable[..., Config]) -> None:
    config = resolved("data.bpe_dropout=0.3", "data.vocab_size=37000", "data.clean.max_words=7")
    opened = open_dataset(config.data)
    original = prepared(opened)
    assert original is not None
    assert config.data.train == original.train
    assert [Path(each.source).exists() for each in config.data.train] == [True] * len(original.train)
    assert config.data.bpe_dropout == original.bpe_dropout == 0
    assert config.data.clean == original.clean
    assert config.data.vocab_size == config.model.vocab_size == opened.tokenizer("target").vocab_size


def test_batch_settings_come_from_the_recipe(resolved: Callable[..., Config], dataset: Path) -> None:
    config = resolved("batches.batch_tokens=777", "batches.kind=padded", "batches.seed=9", "data.seed=5")
    assert (config.batches.batch_tokens, config.batches.kind, config.batches.seed) == (777, "padded", 9)
    assert Path(config.data.dataset) == dataset


def test_settings_come_from_the_recipe_if_the_dataset_has_none(
    resolved: Callable[..., Config], dataset: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(dataset, tmp_path / "copy")
    (copy / "config.toml").unlink()
    assert resolved(f"data.dataset={copy}", "data.bpe_dropout=0.3").data.bpe_dropout == 0.3


def test_a_damaged_dataset_is_refused_before_the_run_is_created(
    trained: Callable[..., RunDir], dataset: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(dataset, tmp_path / "copy")
    trained("run", f"data.dataset={copy}", "train.steps=2")
    path = copy / "train" / "train" / "target.tokens"
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    with pytest.raises(UserError, match=r"target\.tokens: damaged"):
        trained("other", f"data.dataset={copy}", "train.steps=2")
    assert not (tmp_path / "other").exists()
    with pytest.raises(UserError, match=r"target\.tokens: damaged"):
        trained("run", "train.steps=4", resumed=True)
