"""The optimiser: Adam (paper, 5.3), optionally with Muon for the matrices inside layers; and a moving average."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from hark.config import TrainConfig
from hark.model import Model, torch_private
from hark.train.muon import Muon


class Adam:
    """Updates weights of one type on one device by PyTorch's fused kernel; none of them, if Muon updates all. A test
    checks that the updates are those of `torch.optim`."""

    def __init__(self, weights: Sequence[nn.Parameter], config: TrainConfig) -> None:
        self.weights = weights
        self.betas, self.eps = (config.beta1, config.beta2), config.eps
        self.state: dict[nn.Parameter, dict[str, Tensor]] = {}

    def allocate(self) -> None:
        """Allocate the state, unless a step has done so."""
        for weight in self.weights:
            if weight not in self.state:
                self.state[weight] = {
                    "exp_avg": torch.zeros_like(weight.detach()),
                    "exp_avg_sq": torch.zeros_like(weight.detach()),
                    "step": torch.zeros((), device=weight.device),
                }

    @torch.no_grad()
    def step(self, rate: float, bad: Tensor) -> None:
        """Update every weight that has a gradient, unless `bad` is 1."""
        self.allocate()
        weights = [weight for weight in self.weights if weight.grad is not None]
        if not weights:
            return
        means, squares, steps = (
            [self.state[weight][kind] for weight in weights] for kind in ("exp_avg", "exp_avg_sq", "step")
        )
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        torch_private.add_to_all(steps, 1)
        torch_private.adam(weights, gradients, means, squares, steps, rate, self.betas, self.eps, bad)
        torch_private.subtract_all(steps, [bad] * len(steps))


def build_optimiser(model: Model, config: TrainConfig) -> "Optimiser":
    match config.optimiser:
        case "adam":
            return Optimiser(list(model.parameters()), config)
        case "muon":
            return Optimiser(list(model.parameters()), config, inner_matrices(model))


def inner_matrices(model: Model) -> list[nn.Parameter]:
    """The weight matrices of the linear layers. Muon does not suit embeddings, whose rows are independent vectors."""
    linear = [module for stack in model.stacks.values() for module in stack.modules() if isinstance(module, nn.Linear)]
    return [weight for module in linear for weight in module.parameters() if weight.ndim == 2]


class Optimiser:
    """Updates the weights with clipped gradients, and skips steps with non-finite gradients without waiting for the
    device."""

    def __init__(self, weights: list[nn.Parameter], config: TrainConfig, matrices: Sequence[nn.Parameter] = ()) -> None:
        self.weights = weights
        self.clip_norm, self.weight_decay = config.clip_norm, config.weight_decay
        self.decaying = [weight for weight in weights if weight.ndim > 1] if config.weight_decay else []
        self.muon = Muon(matrices)
        self.adam = Adam([weight for weight in weights if weight not in self.muon.momentum], config)
        self.bad_in_a_row = torch.zeros((), device=weights[0].device)
        self.skipped = torch.zeros((), device=weights[0].device)

    def step(self, rate: float) -> Tensor:
        """Update the weights unless the gradient is non-finite; drop the gradients and return their norm."""
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        norm = gather_norm(torch.nn.utils.get_total_norm(gradients))
        bad = (~norm.isfinite()).float()
        if self.clip_norm is not None:
            torch_private.multiply_all(gradients, (self.clip_norm / (norm + 1e-6)).clamp(max=1.0))
        self.decay(rate, bad)
        self.adam.step(rate, bad)
        self.muon.step(rate, bad)
        self.drop_gradients()
        self.skipped += bad
        self.bad_in_a_row = (self.bad_in_a_row + bad) * bad
        return norm

    @torch.no_grad()
    def decay(self, rate: float, bad: Tensor) -> None:
        """Decoupled weight decay (Loshchilov and Hutter, 2019), which leaves norms and biases alone."""
        if self.decaying:
            torch_private.multiply_all(self.decaying, 1 - rate * self.weight_decay * (1 - bad))

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
        self.decay, self.sources = decay, weights
        self.weights = [weight.detach().clone() for weight in weights]

    @torch.no_grad()
    def update(self, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        torch_private.lerp_all(self.weights, [weight.detach() for weight in self.sources], 1 - decay)
