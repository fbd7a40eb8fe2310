"""Recipes: each loads and builds and is found by name; base and big are the paper's."""

import re
from pathlib import Path

import pytest
import torch

from hark import configfile
from hark.config import Config
from hark.data.corpus import corpus_files
from hark.errors import UserError
from hark.model import Transformer, new_model
from hark.recipes import FOLDER as RECIPES
from hark.recipes import find_recipe, names, split_arguments, summary


@pytest.mark.parametrize("name", names())
def test_every_recipe_builds(name: str) -> None:
    with torch.device("meta"):  # shapes only: big would need a gigabyte
        new_model(configfile.load(RECIPES / f"{name}.toml").model)


def test_base_spells_out_the_defaults() -> None:
    base = configfile.load(RECIPES / "base.toml")
    assert (base.model.d_k, base.model.d_v) == (64, 64)
    assert configfile.load(None, ["model.d_k=64", "model.d_v=64"]) == base


def test_big_is_the_papers() -> None:
    big = configfile.load(RECIPES / "big.toml")
    assert (big.model.d_model, big.model.d_ff, big.model.n_heads, big.model.dropout) == (1024, 4096, 16, 0.3)
    assert (big.model.k_width, big.model.v_width) == (64, 64)
    assert (big.train.steps, big.train.average_last) == (300_000, 20)
    assert big.data == Config().data
    assert big.decode == Config().decode


@pytest.mark.parametrize(("name", "millions"), [("base", 63.1), ("big", 214.2)])
def test_parameter_counts(name: str, millions: float) -> None:
    with torch.device("meta"):
        model = Transformer(configfile.load(RECIPES / f"{name}.toml").model)
    assert round(sum(weight.numel() for weight in model.parameters()) / 1e6, 1) == millions


@pytest.mark.parametrize("name", ["student-en-de", "student-de-en"])
def test_a_student_fits_in_the_package(name: str) -> None:
    """25 MB in int8: one byte per element of a matrix, four per row scale and per other weight."""
    config = configfile.load(RECIPES / f"{name}.toml")
    with torch.device("meta"):
        shapes = [weight.shape for weight in Transformer(config.model).parameters()]
    size = sum(shape.numel() + 4 * shape[0] if len(shape) == 2 else 4 * shape.numel() for shape in shapes)
    tokenizer = 18 * config.data.vocab_size  # bytes of a vocabulary of 16,000, 17.3 per piece
    assert size + tokenizer + 100_000 < 25_000_000
    assert config.data.vocab_size == config.model.vocab_size
    assert f"{config.data.source}-{config.data.target}" == name.removeprefix("student-")


@pytest.mark.parametrize("name", names())
def test_the_first_line_summarises_a_recipe(name: str) -> None:
    assert re.fullmatch(r"[A-Z].{20,61}\.", summary(name))  # a sentence that fits with the name in 80 columns


def test_a_file_takes_precedence_over_a_recipe_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    assert find_recipe("tiny") == RECIPES / "tiny.toml"  # a folder is not a recipe
    (tmp_path / "tiny").rmdir()
    (tmp_path / "tiny").write_text("")
    assert find_recipe("tiny") == Path("tiny")
    assert split_arguments("tiny", ["train.steps=1"]) == (Path("tiny"), ["train.steps=1"])
    assert split_arguments("train.steps=1", []) == (None, ["train.steps=1"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tyni", "tyni: no such recipe; did you mean tiny?"),
        ("recipes/base.toml", "recipes/base.toml: no such file; did you mean the built-in recipe base?"),
        ("mine.toml", "mine.toml: no such file"),
        ("xyz", "xyz: no such recipe; choose from bart, base, bert, big, "),
    ],
)
def test_a_missing_recipe(name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as refused:
        find_recipe(name)
    assert str(refused.value) == message or (message.endswith(", ") and str(refused.value).startswith(message))


def test_the_text_of_fine_tune_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = configfile.load(RECIPES / "fine-tune.toml").data
    files = [path for corpus in (*data.train, *data.dev, *data.test) for path in corpus_files(corpus)]
    assert len(files) == 6
    assert all(path.is_file() for path in files)
