"""The schedule against the paper's formula; Adam against torch's own; clipping; the moving average."""

import math

import pytest
import torch
from torch import nn

from hark import configfile
from hark.config import Config, TrainConfig
from hark.train.optimiser import Average, Optimiser, learning_rate


@pytest.mark.parametrize("step", [1, 100, 3999, 4000, 4001, 100_000])
def test_the_learning_rate_is_the_papers(step: int) -> None:
    assert learning_rate(step, Config()) == pytest.approx(512**-0.5 * min(step**-0.5, step * 4000**-1.5), rel=1e-12)


def test_it_rises_to_warmup_and_falls_after() -> None:
    rates = [learning_rate(step, Config()) for step in (1, 2000, 4000, 8000)]
    assert rates[0] < rates[1] < rates[2] > rates[3]
    assert rates[2] == pytest.approx(1 / math.sqrt(512 * 4000))
    assert learning_rate(7, configfile.load(None, ["train.rate_scale=2"])) == 2 * learning_rate(7, Config())


def small_net() -> nn.Linear:
    torch.manual_seed(3)
    return nn.Linear(4, 3)


def run(net: nn.Linear, step: "object", steps: int = 5, scale: float = 1.0) -> None:
    for n in range(steps):
        net.zero_grad()
        torch.manual_seed(n)
        (net(torch.randn(8, 4)) ** 2).sum().mul(scale).backward()
        step()  # type: ignore[operator]


def test_steps_as_adam_does() -> None:
    mine, other = small_net(), small_net()
    optimiser = Optimiser(list(mine.parameters()), TrainConfig())
    adam = torch.optim.Adam(other.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9)
    run(mine, lambda: optimiser.step(0.01))
    run(other, adam.step)
    torch.testing.assert_close(mine.weight, other.weight)


def test_clips_to_the_norm() -> None:
    mine, other = small_net(), small_net()
    optimiser = Optimiser(list(mine.parameters()), TrainConfig(clip_norm=0.5))
    adam = torch.optim.Adam(other.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9)

    def clipped() -> None:
        nn.utils.clip_grad_norm_(other.parameters(), 0.5)
        adam.step()

    run(mine, lambda: optimiser.step(0.01), scale=50)
    run(other, clipped, scale=50)
    torch.testing.assert_close(mine.weight, other.weight)


def test_the_norm_is_that_before_clipping() -> None:
    net = small_net()
    optimiser = Optimiser(list(net.parameters()), TrainConfig(clip_norm=0.5))
    net(torch.ones(1, 4)).sum().mul(100).backward()
    expected = torch.cat([weight.grad.flatten() for weight in net.parameters() if weight.grad is not None]).norm()
    torch.testing.assert_close(optimiser.step(0.01), expected)


def test_allocating_changes_nothing() -> None:
    net = small_net()
    optimiser = Optimiser(list(net.parameters()), TrainConfig())
    before = net.weight.clone()
    net(torch.ones(1, 4)).sum().backward()
    optimiser.allocate()
    assert torch.equal(net.weight, before)
    assert optimiser.adam.state[net.weight]["exp_avg"].count_nonzero() == 0
    assert optimiser.adam.state[net.weight]["step"].item() == 0
    assert optimiser.skipped.item() == 0


def test_the_moving_average() -> None:
    weight = nn.Parameter(torch.tensor([0.0]))
    average = Average([weight], 0.9)
    expected = 0.0
    for step in range(1, 200):
        with torch.no_grad():
            weight += 1.0
        average.update(step)
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * weight.item()
    assert average.weights[0].item() == pytest.approx(expected, rel=1e-5)
