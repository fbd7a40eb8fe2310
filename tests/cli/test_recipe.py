"""Fine-tuning with settings inherited from the model, which is given by name."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import hark
from hark import configfile
from hark.bundle import Bundle
from hark.cli.prepare import prepare
from hark.cli.recipe import load_recipe, warn_of_ignored_languages
from hark.cli.train import train
from hark.data.dataset import Dataset
from hark.errors import UserError
from hark.models import find_named
from hark.rundir import RunDir
from hark.weights import shrink


@pytest.fixture
def mine(trained: Callable[..., RunDir], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model in int8 that is found by name."""
    run = trained("teacher", "train.steps=6", "model.norm=pre", "model.n_decoder_layers=2", "decode.beam=3")
    (tmp_path / "models").mkdir()
    shrink(Bundle.open(run.best), tmp_path / "models" / "mine", "int8")
    monkeypatch.setenv("HARK_MODELS", str(tmp_path / "models"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "models" / "mine"


def test_settings_default_to_the_models(mine: Path) -> None:
    config, theirs = load_recipe("train.from=mine", ["decode.alpha=1"]), configfile.load(mine / "config.toml")
    assert config.model == theirs.model
    assert (config.decode.beam, config.decode.alpha) == (3, 1.0)
    assert (config.data.source, config.data.target, config.batches.max_length) == ("en", "de", 40)
    assert config.train.from_ == str(mine)
    assert config.data.tokenizer == str(mine / "tokenizer.model")
    assert config.train.steps == configfile.load().train.steps  # a recipe's, not the model's
    changed = load_recipe("train.from=mine", ["model.dropout=0.3", "data.tokenizer=other.model"])
    assert (changed.model.dropout, changed.model.norm, changed.data.tokenizer) == (0.3, "pre", "other.model")


def test_a_recipe_overrides_the_models_settings(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "tune.toml").write_text('[model]\ndropout = 0.2\n[train]\nfrom = "mine"\nsteps = 3\n')
    config = load_recipe("tune.toml", ["train.steps=4"])
    assert (config.model.dropout, config.model.n_decoder_layers, config.train.steps) == (0.2, 2, 4)
    assert config.train.from_ == str(mine)


@pytest.mark.usefixtures("mine")
def test_a_missing_model() -> None:
    with pytest.raises(UserError, match=r"^mein: no such model; did you mean mine\?$"):
        load_recipe("train.from=mein", None)


def test_fine_tuning_from_text_to_model(mine: Path, tmp_path: Path) -> None:
    for language in ("en", "de"):
        lines = [f"{'we have' if language == 'en' else 'EVAH EW'} {i} dogs" for i in range(90)]
        (tmp_path / f"new.{language}").write_text("\n".join(lines[:80]) + "\n")
        (tmp_path / f"dev.{language}").write_text("\n".join(lines[80:]) + "\n")
    files = {"train": ["new.en", "new.de"], "dev": ["dev.en", "dev.de"]}
    prepare(
        "train.from=mine",
        ["data.clean.language=1"],
        output=tmp_path / "new",
        processes=1,
        **{role: [tuple(names)] for role, names in files.items()},  # type: ignore[arg-type]
    )
    assert Dataset.open(tmp_path / "new").tokenizer("target").model == (mine / "tokenizer.model").read_bytes()
    settings = ["data.dataset=new", "batches.batch_tokens=200", "train.steps=1", "train.rate_scale=1e-9"]
    train("train.from=mine", settings, output=tmp_path / "tuned")
    before, after = hark.load(mine), hark.load(tmp_path / "tuned" / "best")
    torch.testing.assert_close(after.model.embedding.weight, before.model.embedding.weight)  # int8 was restored
    assert after.config.model == before.config.model

    (mine / "config.toml").unlink()  # a run resumes from its own checkpoint, without the model
    train("train.steps=2", resume=tmp_path / "tuned", allow=["train.steps"])


def test_languages_are_ignored_with_a_many_to_many_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_ignored_languages(None, ["data.source=it", "model.norm=pre"])
    assert capsys.readouterr().err == "data.source=it is ignored: the dataset is many-to-many\n"


def test_a_pair_of_languages_names_the_model_that_translates_it() -> None:
    """A model of several pairs then need not be told which of them to go on with."""
    folder, _ = find_named("de-en")
    config = load_recipe("train.from=de-en", None)
    assert (config.data.source, config.data.target, config.train.from_) == ("de", "en", str(folder))
    assert config.data.language_tags == Bundle.open(folder).facts.vocabulary.language_tags
    assert load_recipe("train.from=de-en", ["data.source=nl"]).data.source == "nl"
