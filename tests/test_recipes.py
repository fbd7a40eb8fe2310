"""Every recipe loads and builds; base and big are the paper's."""

from pathlib import Path

import pytest
import torch

from hark import configfile
from hark.config import Config
from hark.model import Transformer

RECIPES = Path(__file__).parents[1] / "recipes"


@pytest.mark.parametrize("name", sorted(path.stem for path in RECIPES.glob("*.toml")))
def test_every_recipe_builds(name: str) -> None:
    with torch.device("meta"):  # shapes only: big would need a gigabyte
        Transformer(configfile.load(RECIPES / f"{name}.toml").model)


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
