"""Adam with the paper's schedule (section 5.3), and the moving average of weights."""

import torch
from torch import Tensor, nn

from hark.config import Config, TrainConfig


def learning_rate(step: int, config: Config) -> float:
    """Equation 3: `d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)`; the first step is 1."""
    train = config.train
    return train.rate_scale * config.model.d_model**-0.5 * min(step**-0.5, step * train.warmup_steps**-1.5)


class Optimiser:
    """Adam, its clipping, and its refusal to step on a gradient that is no number; nothing here waits for a device."""

    def __init__(self, weights: list[nn.Parameter], config: TrainConfig) -> None:
        self.weights = weights
        self.clip_norm = config.clip_norm
        self.adam = torch.optim.Adam(weights, betas=(config.beta1, config.beta2), eps=config.eps, fused=True)
        self.bad_in_a_row = torch.zeros((), device=weights[0].device)
        self.skipped = torch.zeros((), device=weights[0].device)

    def step(self, rate: float) -> Tensor:
        """Update the weights, unless a gradient is no number; the norm of the gradient. The gradients are gone then."""
        gradients = [weight.grad for weight in self.weights if weight.grad is not None]
        norm = whole(torch.nn.utils.get_total_norm(gradients))
        bad = (~norm.isfinite()).float()
        if self.clip_norm is not None:
            torch._foreach_mul_(gradients, (self.clip_norm / (norm + 1e-6)).clamp(max=1.0))
        # The fused kernel leaves weights and state alone where this is 1, as it does for a gradient scaler.
        self.adam.found_inf = bad  # type: ignore[attr-defined]
        for group in self.adam.param_groups:
            group["lr"] = rate
        self.adam.step()
        self.adam.zero_grad()
        self.skipped += bad
        self.bad_in_a_row = (self.bad_in_a_row + bad) * bad
        return norm

    def allocate(self) -> None:
        """Make the state that Adam otherwise makes at its first step, and change nothing: gradients must be there."""
        self.adam.found_inf = torch.ones_like(self.skipped)  # type: ignore[attr-defined]
        self.adam.step()


def whole(norm: Tensor) -> Tensor:
    """A norm over weights that are shared out among processes, made one number on each."""
    return norm.full_tensor() if hasattr(norm, "full_tensor") else norm


class Average:
    """An exponential moving average of the weights: beginning with few steps' worth, so that it forgets its start."""

    def __init__(self, weights: list[nn.Parameter], decay: float) -> None:
        self.decay = decay
        self.sources = weights
        self.weights = [weight.detach().clone() for weight in weights]

    @torch.no_grad()
    def update(self, step: int) -> None:
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self.weights, [weight.detach() for weight in self.sources], 1 - decay)
