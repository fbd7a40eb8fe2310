"""The optimiser: Adam, optionally with Muon for the matrices inside layers; and a moving average of the weights."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from hark.config import TrainConfig
from hark.model import Transformer
from hark.train.adam import Adam
from hark.train.muon import Muon


def build_optimiser(model: Transformer, config: TrainConfig) -> "Optimiser":
    match config.optimiser:
        case "adam":
            return Optimiser(list(model.parameters()), config)
        case "muon":
            return Optimiser(list(model.parameters()), config, inner_matrices(model))


def inner_matrices(model: Transformer) -> list[nn.Parameter]:
    """The weight matrices of the linear layers. Muon does not suit embeddings, whose rows are independent vectors."""
    stacks = (model.encoder, model.decoder)
    linear = [each for stack in stacks for each in stack.modules() if isinstance(each, nn.Linear)]
    return [weight for each in linear for weight in each.parameters() if weight.ndim == 2]


class Optimiser:
    """Updates the weights with clipped gradients, and skips steps with non-finite gradients without waiting for the
    device."""

    def __init__(self, weights: list[nn.Parameter], config: TrainConfig, matrices: Sequence[nn.Parameter] = ()) -> None:
        self.weights = weights
        self.clip_norm = config.clip_norm
        by_muon = {id(each) for each in matrices}
        others = [each for each in weights if id(each) not in by_muon]
        self.adam = Adam(others, config)
        self.muon = Muon(matrices)
        self.bad_in_a_row = torch.zeros((), device=weights[0].device)
        self.skipped = torch.zeros((), device=weights[0].device)

    def step(self, rate: float) -> Tensor:
        """Update the weights unless the gradient is non-finite; drop the gradients and return their norm."""
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        norm = gather_norm(torch.nn.utils.get_total_norm(gradients))
        bad = (~norm.isfinite()).float()
        if self.clip_norm is not None:
            torch._foreach_mul_(gradients, (self.clip_norm / (norm + 1e-6)).clamp(max=1.0))
        self.adam.step(rate, bad)
        self.muon.step(rate, bad)
        self.drop_gradients()
        self.skipped += bad
        self.bad_in_a_row = (self.bad_in_a_row + bad) * bad
        return norm

    def drop_gradients(self) -> None:
        for weight in self.weights:
            weight.grad = None

    def allocate(self) -> None:
        """Allocate the state that Adam otherwise creates at its first step, and drop the gradients."""
        self.adam.allocate()
        self.drop_gradients()

    def state(self, weight: nn.Parameter) -> Mapping[str, Tensor]:
        """The optimiser state of a weight. It must have been allocated."""
        if weight in self.muon.momentum:
            return {"momentum": self.muon.momentum[weight]}
        return self.adam.state[weight]


def gather_norm(norm: Tensor) -> Tensor:
    """Reduce a norm over sharded weights to one number on each process."""
    return norm.full_tensor() if hasattr(norm, "full_tensor") else norm


class MovingAverage:
    """An exponential moving average of the weights. The decay starts low, so that the initial weights are forgotten."""

    def __init__(self, weights: list[nn.Parameter], decay: float) -> None:
        self.decay = decay
        self.sources = weights
        self.weights = [weight.detach().clone() for weight in weights]

    @torch.no_grad()
    def update(self, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.weights, [weight.detach() for weight in self.sources], 1 - decay)
