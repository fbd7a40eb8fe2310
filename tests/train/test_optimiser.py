"""Adam and Muon against PyTorch's implementations; clipping; the moving average."""

import math
import sys
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import nn

from hark.config import ModelConfig, TrainConfig
from hark.model import Transformer
from hark.rundir import RunDir
from hark.train import muon as muon_module
from hark.train.muon import orthogonal
from hark.train.optimiser import MovingAverage, Optimiser, build_optimiser


def small_net() -> nn.Linear:
    torch.manual_seed(3)
    return nn.Linear(4, 3)


def run(net: nn.Linear, step: "object", steps: int = 5, scale: float = 1.0) -> None:
    for n in range(steps):
        net.zero_grad()
        torch.manual_seed(n)
        (net(torch.randn(8, 4)) ** 2).sum().mul(scale).backward()
        step()  # type: ignore[operator]


def test_steps_equal_torch_adam() -> None:
    mine, other = small_net(), small_net()
    optimiser = Optimiser(list(mine.parameters()), TrainConfig())
    adam = torch.optim.Adam(other.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9)
    run(mine, lambda: optimiser.step(0.01))
    run(other, adam.step)
    torch.testing.assert_close(mine.weight, other.weight)


def test_steps_and_state_equal_the_fused_adam_of_torch() -> None:
    """To the last bit, so that a run can be resumed that began with it."""
    mine, other = small_net(), small_net()
    optimiser = Optimiser(list(mine.parameters()), TrainConfig())
    adam = torch.optim.Adam(other.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9, fused=True)
    run(mine, lambda: optimiser.step(0.01))
    run(other, adam.step)
    for ours, theirs in zip(mine.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours, theirs)
        assert optimiser.state(ours).keys() == adam.state[theirs].keys()
        assert all(torch.equal(value, adam.state[theirs][kind]) for kind, value in optimiser.state(ours).items())


def test_weight_decay_equals_adamw_on_matrices_alone() -> None:
    mine, other = small_net(), small_net()
    optimiser = Optimiser(list(mine.parameters()), TrainConfig(weight_decay=0.3))
    groups = [{"params": [other.weight], "weight_decay": 0.3}, {"params": [other.bias], "weight_decay": 0.0}]
    adamw = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.98), eps=1e-9)
    run(mine, lambda: optimiser.step(0.01))
    run(other, adamw.step)
    torch.testing.assert_close(mine.weight, other.weight)
    torch.testing.assert_close(mine.bias, other.bias)


def test_a_skipped_step_decays_nothing() -> None:
    net = small_net()
    before = net.weight.detach().clone()
    optimiser = Optimiser(list(net.parameters()), TrainConfig(weight_decay=0.3))
    (net(torch.ones(1, 4)).sum() * math.nan).backward()
    optimiser.step(0.01)
    assert torch.equal(net.weight, before)


@pytest.mark.parametrize("kind", ["adam", "muon"])
def test_training_does_not_import_the_compiler(
    kind: str, trained: Callable[..., RunDir], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch._dynamo", None)  # importing it would fail
    trained("run", "train.steps=1", f"train.optimiser={kind}", "train.ema=0.9")


def test_clipping_equals_clip_grad_norm() -> None:
    mine, other = small_net(), small_net()
    optimiser = Optimiser(list(mine.parameters()), TrainConfig(clip_norm=0.5))
    adam = torch.optim.Adam(other.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-9)

    def clipped() -> None:
        nn.utils.clip_grad_norm_(other.parameters(), 0.5)
        adam.step()

    run(mine, lambda: optimiser.step(0.01), scale=50)
    run(other, clipped, scale=50)
    torch.testing.assert_close(mine.weight, other.weight)


def test_step_returns_the_norm_before_clipping() -> None:
    net = small_net()
    optimiser = Optimiser(list(net.parameters()), TrainConfig(clip_norm=0.5))
    net(torch.ones(1, 4)).sum().mul(100).backward()
    expected = torch.cat([weight.grad.flatten() for weight in net.parameters() if weight.grad is not None]).norm()
    torch.testing.assert_close(optimiser.step(0.01), expected)


def test_allocate_changes_nothing() -> None:
    net = small_net()
    optimiser = Optimiser(list(net.parameters()), TrainConfig())
    before = net.weight.clone()
    net(torch.ones(1, 4)).sum().backward()
    optimiser.allocate()
    assert torch.equal(net.weight, before)
    assert optimiser.adam.state[net.weight]["exp_avg"].count_nonzero() == 0
    assert optimiser.adam.state[net.weight]["step"].item() == 0
    assert optimiser.skipped.item() == 0


def nets_of_matrices() -> nn.Sequential:
    """Wide, tall and square matrices, two of them of one shape."""
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 4))


def test_steps_equal_torch_muon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        muon_module, "orthogonal", partial(orthogonal, dtype=torch.bfloat16)
    )  # as in PyTorch on every device
    mine, other = nets_of_matrices(), nets_of_matrices()
    matrices, others = ([net[n].weight for n in range(4)] for net in (mine, other))
    optimiser = Optimiser(list(mine.parameters()), TrainConfig(), matrices)
    muon = torch.optim.Muon(others, weight_decay=0, adjust_lr_fn="match_rms_adamw", lr=0.01)
    adam = torch.optim.Adam([each.bias for each in other], lr=0.01, betas=(0.9, 0.98), eps=1e-9)
    run(mine, lambda: optimiser.step(0.01))
    run(other, lambda: (muon.step(), adam.step()))
    for ours, theirs in zip(mine.parameters(), other.parameters(), strict=True):
        # Both orthogonalise in bfloat16, whose sums depend on their order: the last bit of each of five updates.
        torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-4)


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 6, 16)])
def test_orthogonal_keeps_directions_and_evens_out_singular_values(shape: tuple[int, ...]) -> None:
    torch.manual_seed(5)
    u, _, vh = torch.linalg.svd(torch.randn(shape), full_matrices=False)
    singular = torch.logspace(-1, 1, u.shape[-1])  # condition number 100
    result = orthogonal(u * singular @ vh)
    along = (u.mT @ result @ vh.mT).diagonal(dim1=-2, dim2=-1)
    assert 0.5 < along.min() < along.max() < 1.4
    torch.testing.assert_close(result, u * along[:, None] @ vh, rtol=0, atol=0.03)


def test_muon_updates_only_the_matrices_inside_layers() -> None:
    size = ModelConfig(d_model=8, d_ff=16, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, vocab_size=11, tie="none")
    model = Transformer(size)
    optimiser = build_optimiser(model, TrainConfig(optimiser="muon"))
    names = {name for name, weight in model.named_parameters() if weight in optimiser.muon.momentum}
    assert len(names) == 6 + 10
    assert all(name.endswith("weight") and "norm" not in name for name in names)
    assert not names & {"embedding.weight", "source_embedding.weight", "projection.weight"}


def test_muon_skips_steps_with_nan_gradients() -> None:
    net = nets_of_matrices()
    optimiser = Optimiser(list(net.parameters()), TrainConfig(), [each.weight for each in net])
    run(net, lambda: optimiser.step(0.01))
    before = [weight.detach().clone() for weight in net.parameters()]
    momenta = {weight: momentum.clone() for weight, momentum in optimiser.muon.momentum.items()}
    run(net, lambda: optimiser.step(0.01), steps=1, scale=math.nan)
    assert optimiser.skipped.item() == 1
    assert all(torch.equal(a, b) for a, b in zip(before, net.parameters(), strict=True))
    assert all(torch.equal(optimiser.muon.momentum[weight], each) for weight, each in momenta.items())
    run(net, lambda: optimiser.step(0.01), steps=1)
    assert not torch.equal(before[0], net[0].weight)


def test_moving_average() -> None:
    weight = nn.Parameter(torch.tensor([0.0]))
    average = MovingAverage([weight], 0.9)
    expected = 0.0
    for step in range(1, 200):
        with torch.no_grad():
            weight += 1.0
        average.update(step)
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * weight.item()
    assert average.weights[0].item() == pytest.approx(expected, rel=1e-5)
