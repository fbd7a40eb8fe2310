"""The schedules against their formulas."""

import math
from itertools import pairwise

import pytest

from hark import configfile
from hark.config import Config
from hark.errors import UserError
from hark.train.schedule import learning_rate


@pytest.mark.parametrize("step", [1, 100, 3999, 4000, 4001, 100_000])
def test_the_learning_rate_is_the_papers(step: int) -> None:
    assert learning_rate(step, Config()) == pytest.approx(512**-0.5 * min(step**-0.5, step * 4000**-1.5), rel=1e-12)


def test_the_rate_rises_during_warmup_and_then_falls() -> None:
    rates = [learning_rate(step, Config()) for step in (1, 2000, 4000, 8000)]
    assert rates[0] < rates[1] < rates[2] > rates[3]
    assert rates[2] == pytest.approx(1 / math.sqrt(512 * 4000))
    assert learning_rate(7, configfile.load(None, ["train.rate_scale=2"])) == 2 * learning_rate(7, Config())


LINEAR = configfile.load(None, ["train.schedule=linear", "train.steps=1000", "train.warmup_steps=200"])


def test_the_linear_schedule_has_the_same_peak_and_decays_linearly() -> None:
    rates = [learning_rate(step, LINEAR) for step in range(1, 1001)]
    assert max(rates) == rates[199] == pytest.approx(1 / math.sqrt(512 * 200))
    falls = [before - after for before, after in pairwise(rates[199:])]
    assert max(falls) == pytest.approx(min(falls), rel=1e-9)
    assert rates[-1] == pytest.approx(rates[199] / 801)


def test_a_warmup_as_long_as_the_run_is_refused() -> None:
    with pytest.raises(UserError, match="warmup_steps"):
        configfile.load(None, ["train.schedule=linear", "train.steps=200", "train.warmup_steps=200"])
