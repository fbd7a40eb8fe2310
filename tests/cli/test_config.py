"""`hark config`: its output can be read back, and its explanations are complete."""

from pathlib import Path

import pytest

from hark import configfile
from hark.cli.config import config
from hark.errors import UserError
from hark.recipes import FOLDER, names

TINY = "tiny"


def test_prints_a_file_that_reads_back_equal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config(TINY, ["model.norm=pre"])
    printed = capsys.readouterr().out
    config(TINY, ["model.norm=pre"], output=Path("-"))
    assert capsys.readouterr().out == printed
    config(TINY, ["model.norm=pre"], output=tmp_path / "resolved.toml")
    assert (tmp_path / "resolved.toml").read_text() == printed
    assert configfile.load(tmp_path / "resolved.toml") == configfile.load(FOLDER / "tiny.toml", ["model.norm=pre"])


def test_overrides_need_no_recipe(capsys: pytest.CaptureFixture[str]) -> None:
    config("model.norm=pre", ["model.n_heads=4"])
    printed = capsys.readouterr().out
    assert 'norm = "pre"' in printed
    assert "n_heads = 4" in printed


def test_explain_shows_meaning_default_allowed_values_and_changes(capsys: pytest.CaptureFixture[str]) -> None:
    config(TINY, explain=True)
    printed = capsys.readouterr().out
    assert "model.d_model = 512   here: 128" in printed
    assert "    allowed: one of post, pre" in printed
    assert "data.clean.max_words = 200" in printed
    assert "data.train[].weight = 1.0\n    sampling weight, relative to" in printed


def test_an_output_in_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder: "):
        config(output=tmp_path / "no" / "such.toml")


def test_the_recipes_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    config(recipes=True)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == names()
    assert all(len(line) <= 80 for line in lines)
    with pytest.raises(UserError, match="--recipes cannot be combined with a recipe or --explain"):
        config("tiny", recipes=True)
