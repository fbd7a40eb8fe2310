"""`hark train`: resuming with changed settings, default names and sizes, and messages."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hark import configfile
from hark.cli.train import default_samples, train
from hark.errors import UserError
from hark.rundir import RunDir
from hark.train.metrics import read_metrics
from tests.runs import SETTINGS


def test_a_missing_dataset_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"data\.dataset is not set"):
        train("train.steps=1", output=tmp_path / "run")
    with pytest.raises(UserError, match="not a hark dataset; create one with hark prepare"):
        train(f"data.dataset={tmp_path}", output=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_changed_setting_on_resume_requires_allow(trained: Callable[..., RunDir]) -> None:
    run = trained("run", "train.steps=4")
    with pytest.raises(UserError, match=r"train\.steps: the run began with 4, not 6; .* add --allow train\.steps"):
        train("train.steps=6", resume=run.path)
    with pytest.raises(UserError, match=r"train\.warmup_steps: the run began with 10, not 3"):
        train("train.steps=6", ["train.warmup_steps=3"], resume=run.path, allow=["train.steps"])
    train("train.steps=6", resume=run.path, allow=["train.steps"])
    assert read_metrics(run.metrics).step == 6
    with pytest.raises(UserError, match=r"^--allow train\.step: no such setting; did you mean train\.steps\?$"):
        train("train.steps=8", resume=run.path, allow=["train.step"])
    with pytest.raises(UserError, match=r"^--allow nosuch: no such setting; list them with hark config --explain$"):
        train(resume=run.path, allow=["nosuch"])
    with pytest.raises(UserError, match="--allow requires --resume"):
        train("train.steps=8", allow=["train.steps"])
    with pytest.raises(UserError, match="--resume uses the run's own recipe"):
        train("tiny", resume=run.path)
    with pytest.raises(UserError, match=r"not a run: config\.toml is missing"):
        train(resume=run.path / "checkpoints")


def test_the_run_is_named_after_the_recipe(
    dataset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    config = configfile.load(None, [*SETTINGS, f"data.dataset={dataset}", "train.steps=1"])
    (tmp_path / "mine.toml").write_text(configfile.dump(config))
    train("mine.toml")
    assert RunDir(tmp_path / "runs" / "mine").exists
    train("tiny", [*SETTINGS, f"data.dataset={dataset}", "train.steps=1"])
    assert RunDir(tmp_path / "runs" / "tiny").exists


def test_a_vocabulary_size_that_differs_from_the_datasets_is_ignored_with_a_warning(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = [*SETTINGS, f"data.dataset={dataset}", "train.steps=1"]
    warning = "model.vocab_size=1,234 is ignored: the dataset has a vocabulary of 400 (set by hark prepare --vocab)"
    train("model.vocab_size=1234", settings, output=tmp_path / "a")
    assert capsys.readouterr().err.count(warning) == 1
    (tmp_path / "recipe.toml").write_text("[model]\nvocab_size = 1234\n")
    train(str(tmp_path / "recipe.toml"), settings, output=tmp_path / "b")
    assert warning in capsys.readouterr().err
    train("model.vocab_size=400", settings, output=tmp_path / "c")
    train(settings[0], settings[1:], output=tmp_path / "d")  # not set, so nothing is ignored
    assert "vocab_size" not in capsys.readouterr().err


def test_a_cpu_trains_a_small_model_unless_a_size_is_set(
    dataset: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["train.steps=1", "train.device=cpu", "train.warmup_steps=1"]
    train(f"data.dataset={dataset}", [*words, "batches.batch_tokens=256"], output=tmp_path / "small")
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].startswith("no GPU and no [model] settings: training a small model (2 + 2 layers")
    assert lines[1].startswith("training on CPU: ")
    assert "of memory" in lines[1]
    assert re.match(r"about \S+ s per step, ", lines[3])
    assert configfile.load(tmp_path / "small" / "config.toml").model.d_model == 128
    named = [*words, "model.d_model=32", "model.d_ff=32", "model.n_heads=2", "batches.batch_tokens=500"]
    train(f"data.dataset={dataset}", named, output=tmp_path / "named")
    assert capfd.readouterr().err.startswith("training on CPU: ")
    assert configfile.load(tmp_path / "named" / "config.toml").model.n_encoder_layers == 6


@pytest.mark.parametrize(("terminal", "term", "samples"), [(True, "xterm", 2), (True, "dumb", 0), (False, "xterm", 0)])
def test_samples_are_shown_on_a_terminal_only(
    terminal: bool, term: str, samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TERM", term)
    assert default_samples() == samples
