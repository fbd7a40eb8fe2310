"""Plans of training against measured runs, and how they scale."""

import pytest

from hark import configfile
from hark.config import Config
from hark.recipes import FOLDER, names
from hark.train.plan import GPUS, MEASURED, Measured, plan


def settings(recipe: str, *changes: str) -> Config:
    return configfile.load(FOLDER / f"{recipe}.toml", list(changes))


def config_of(run: Measured) -> Config:
    changes = [f"batches.batch_tokens={run.batch_tokens}", "train.batches_per_step=1", *run.changes]
    if run.recipe in ("gpt", "bert"):
        changes += [f"batches.max_length={run.length}", f"model.max_positions={run.length}"]
    return settings(run.recipe, *changes)


@pytest.mark.parametrize("run", MEASURED, ids=lambda run: f"{run.recipe}-{run.length}-{run.batch_tokens}")
def test_measured_runs_are_planned_within_15_per_cent(run: Measured) -> None:
    made = plan(config_of(run), length=run.length)
    assert 1000 * made.seconds == pytest.approx(run.milliseconds, rel=0.15)
    assert made.gib == pytest.approx(run.gib, rel=0.15)


def test_a_run_that_set_no_rate_is_planned_within_15_per_cent() -> None:
    """docs/results/logs/training/gpt-europarl.txt: 623,000 tokens/s, 20.3 GiB."""
    changes = ("data.vocab_size=32000", "batches.max_length=512", "model.max_positions=512", "train.batches_per_step=1")
    made = plan(settings("gpt", *changes))
    assert made.step_tokens / made.seconds == pytest.approx(623_000, rel=0.15)
    assert made.gib == pytest.approx(20.3, rel=0.15)
    assert made.weights == pytest.approx(110e6, rel=0.01)


@pytest.mark.parametrize("recipe", names())
def test_every_recipe_has_a_plan(recipe: str) -> None:
    made = plan(settings(recipe))
    assert all(seconds > 0 for seconds in made.parts.values())
    assert made.tokens == settings(recipe).train.steps * made.step_tokens


def test_more_gpus_are_faster_but_not_by_more_than_their_number() -> None:
    config = settings("gpt", "train.batches_per_step=64")
    speeds = [plan(config, gpus).run_seconds * gpus for gpus in (2, 4, 8)]
    assert speeds == sorted(speeds)
    assert plan(config, 8).run_seconds < plan(config, 1).run_seconds
    assert plan(config, 4, machines=2).exchange > plan(config, 8).exchange


def test_sharding_divides_weights_and_moments() -> None:
    whole, shared = (
        plan(settings("big", "train.batches_per_step=8", *extra), 8) for extra in ((), ("train.parallel=fsdp",))
    )
    assert shared.permanent == pytest.approx(whole.permanent / 8)
    assert shared.batch == whole.batch


def test_slower_gpus_take_longer() -> None:
    seconds = [plan(settings("gpt"), gpu=GPUS[name]).seconds for name in ("h200", "h100", "a100")]
    assert seconds == sorted(seconds)
