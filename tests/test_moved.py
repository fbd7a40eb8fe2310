"""Settings that moved to [batches]: old recipes, runs, bundles and commands still work, with one warning."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hark import configfile
from hark.bundle import Bundle, write_bundle
from hark.cli.config import config as show_config
from hark.cli.recipe import load_recipe
from hark.cli.train import train
from hark.config import BatchConfig, Config
from hark.errors import UserError
from hark.facts import Facts
from hark.rundir import RunDir
from tests.runs import losses

OLD_RECIPE = """
[data]
vocab_size = 4000
batching = "padded"
batch_tokens = 2048
max_length = 128
seed = 7

[model]
d_model = 128
"""
NEW_RECIPE = """
[data]
vocab_size = 4000
seed = 7

[batches]
kind = "padded"
batch_tokens = 2048
max_length = 128
seed = 7

[model]
d_model = 128
"""
OLD_BUNDLE = Path(__file__).parent / "golden" / "config-before-batches.toml"
"""The settings of a bundle that was shipped before there was a section [batches]."""


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("old.toml").write_text(OLD_RECIPE)
    Path("new.toml").write_text(NEW_RECIPE)
    return "old.toml"


def test_an_old_recipe_still_works_with_one_warning(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert load_recipe(old, []) == configfile.load("new.toml")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "old.toml: [data] batching (now kind), batch_tokens, max_length moved to [batches]; "
        "update the file (hark config old.toml prints it in the new form)\n"
    )


def test_hark_config_prints_the_new_names(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_config(old)
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    Path("updated.toml").write_text(printed.out)
    assert load_recipe("updated.toml", []) == configfile.load("new.toml")
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("old")
def test_a_new_recipe_and_new_overrides_cause_no_warning(capsys: pytest.CaptureFixture[str]) -> None:
    load_recipe("new.toml", ["batches.batch_tokens=4000"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("recipe", ["old.toml", "new.toml"])
@pytest.mark.usefixtures("old")
def test_old_overrides_win_over_the_file_with_one_warning(recipe: str, capsys: pytest.CaptureFixture[str]) -> None:
    config = load_recipe(recipe, ["data.batch_tokens=4000", "data.batching=packed", "data.batch_tokens=5000"])
    assert config.batches == BatchConfig(kind="packed", batch_tokens=5000, max_length=128, seed=7)
    assert capsys.readouterr().err.splitlines()[recipe == "old.toml" :] == [
        "command line: data.batch_tokens is now batches.batch_tokens, data.batching is now batches.kind"
    ]


def test_an_invalid_override_is_reported_by_its_new_name() -> None:
    with pytest.raises(UserError, match=r"^command line: batches\.max_length: 0 is not allowed"):
        configfile.load(None, ["data.max_length=0"])


def test_only_the_main_process_warns(
    old: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    load_recipe(old, ["data.batch_tokens=4000"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("text", "overrides", "seeds"),
    [
        ("[data]\nseed = 7", [], (7, 7)),
        ("[data]\nseed = 7\n[batches]\nseed = 2", [], (7, 2)),
        ("[data]\nseed = 7", ["data.seed=9"], (9, 9)),
        ("[data]\nseed = 7", ["batches.seed=9"], (7, 9)),
        ("", ["data.seed=9"], (9, 9)),
        ("[batches]\nseed = 2", ["data.seed=9"], (9, 2)),
    ],
)
def test_data_seed_alone_sets_both_seeds(
    text: str, overrides: list[str], seeds: tuple[int, int], tmp_path: Path
) -> None:
    (tmp_path / "a.toml").write_text(text)
    config = configfile.load(tmp_path / "a.toml", overrides)
    assert (config.data.seed, config.batches.seed) == seeds


def test_an_old_bundle_opens_without_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def write_old(path: Path) -> None:
        path.write_bytes(b"weights")
        # As from an older version: `write_bundle` seals whatever is in the folder at the end.

    files = {"config.toml": OLD_BUNDLE.read_bytes(), "tokenizer.model": b""}
    write_bundle(tmp_path / "bundle", Config(), write_old, files, Facts(pairs=(("en", "de"),)))
    config = Bundle.open(tmp_path / "bundle").config
    assert config.batches == BatchConfig(kind="packed", batch_tokens=25000, max_length=250, seed=1)
    assert (config.data.vocab_size, config.model.d_model, config.train.steps) == (16000, 320, 29000)
    assert capsys.readouterr() == ("", "")


def old_form(config: Config) -> str:
    """The settings as an older version wrote them."""
    text = configfile.dump(replace(config, batches=BatchConfig()))
    before, _, after = text.partition("\n[batches]\n")
    batches = config.batches
    lines = f'batching = "{batches.kind}"\nbatch_tokens = {batches.batch_tokens}\nmax_length = {batches.max_length}\n'
    # The single seed was that of the order, which a run must keep.
    head, _, clean = before.replace(f"seed = {config.data.seed}", f"seed = {batches.seed}").partition("\n[data.clean]")
    return f"{head}{lines}\n[data.clean]{clean}\n" + after[after.index("[model]") :]


def test_an_old_run_resumes_exactly_without_a_warning(
    trained: Callable[..., RunDir], capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ("batches.seed=5", "batches.kind=padded", "train.steps=6", "train.save_steps=3", "train.warmup_steps=4")
    whole = losses(trained("whole", *settings))
    run = trained("old", *settings, "train.steps=3")
    config = configfile.load(run.config)
    run.config.write_text(old_form(config))
    assert "[batches]" not in run.config.read_text()
    assert configfile.load(run.config).batches == config.batches
    capsys.readouterr()
    train("train.steps=6", resume=run.path, allow=["train.steps"])
    assert losses(run) == whole
    assert "moved" not in capsys.readouterr().err


def test_an_old_name_may_be_allowed_on_resume(
    trained: Callable[..., RunDir], capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained("run", "train.steps=1")
    with pytest.raises(UserError, match=r"batch settings \(batches\.kind"):  # allowed, and then rejected by the stream
        train("data.batch_tokens=300", resume=run.path, allow=["data.batch_tokens"])
    assert "command line: data.batch_tokens is now batches.batch_tokens\n" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"^batches\.batch_tokens: the run began with 200, not 300;"):
        train("data.batch_tokens=300", resume=run.path)


def test_the_new_section_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    show_config(explain=True)
    printed = capsys.readouterr().out
    for name in ("kind", "batch_tokens", "max_length", "seed"):
        assert f"\nbatches.{name} = " in printed
    for name in ("batching", "batch_tokens", "max_length"):
        assert f"data.{name}" not in printed
