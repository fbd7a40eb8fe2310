"""Budgets: the full scale is the paper's recipe, smaller ones keep its proportions."""

from dataclasses import replace

from hark import configfile
from hark.config import Config, ModelConfig
from hark.recipes import find_recipe
from hark.reproduce.published import TABLE_3
from hark.reproduce.scales import FULL, MEDIUM, SCALES, SMALL
from hark.reproduce.table2 import model_config
from hark.reproduce.table3 import variation_config


def test_the_full_scale_is_the_papers_recipe() -> None:
    for name in ("base", "big"):
        recipe, config = configfile.load(find_recipe(name)), model_config(name, FULL, None)
        assert config.model == recipe.model
        assert config.batches == recipe.batches
        assert config.decode == recipe.decode
        for setting in ("steps", "warmup_steps", "rate_scale", "label_smoothing", "beta1", "beta2", "eps", "schedule"):
            assert getattr(config.train, setting) == getattr(recipe.train, setting), setting


def test_rows_differ_from_base_only_as_the_paper_says() -> None:
    base = variation_config(TABLE_3[0], MEDIUM, None)
    for variation in TABLE_3[1:]:
        config = variation_config(variation, MEDIUM, None)
        assert replace(config.model, **{name: getattr(base.model, name) for name in variation.model}) == base.model
        assert replace(config, model=base.model, train=base.train) == base
        assert config.train == replace(base.train, label_smoothing=variation.label_smoothing)
        assert (config.model, config.train) != (base.model, base.train)


def test_a_short_run_has_the_papers_peak_rate() -> None:
    for train in (model_config("base", MEDIUM, 1200).train, variation_config(TABLE_3[0], SMALL, 1200).train):
        assert (train.warmup_steps, train.steps) == (300, 1200)
        assert train.rate_scale * train.warmup_steps**-0.5 == 4000**-0.5


def test_rows_of_the_papers_size_have_its_warm_up() -> None:
    for scale in (MEDIUM, FULL):
        train = variation_config(TABLE_3[0], scale, steps=1200).train
        assert (train.warmup_steps, train.rate_scale) == (4000, 1.0)


def test_smaller_models_keep_their_proportions() -> None:
    model = SMALL.shrink(ModelConfig())
    assert (model.d_model, model.d_ff, model.n_heads, model.d_k, model.n_encoder_layers) == (64, 256, 8, 8, 3)
    for scale in SCALES.values():
        for variation in TABLE_3:
            scale.shrink(variation.apply(Config()).model)  # every row is a valid model
