"""Adam (paper, 5.3) by PyTorch's fused kernel.

`torch.optim` calls the same kernel, but first imports PyTorch's compiler, which takes a second and a half. A test
checks that both give the same updates.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hark.config import TrainConfig


class Adam:
    """Updates weights of one type on one device. There may be none, if Muon updates all of them."""

    def __init__(self, weights: Sequence[nn.Parameter], config: TrainConfig) -> None:
        self.weights = weights
        self.beta1, self.beta2, self.eps = config.beta1, config.beta2, config.eps
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
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(
            list[Tensor](weights),
            [weight.grad for weight in weights if weight.grad is not None],
            means,
            squares,
            [],
            steps,
            lr=rate,
            beta1=self.beta1,
            beta2=self.beta2,
            weight_decay=0.0,
            eps=self.eps,
            amsgrad=False,
            maximize=False,
            grad_scale=None,
            found_inf=bad,  # skips the update if it is 1, as for a gradient scaler
        )
        torch._foreach_sub_(steps, [bad] * len(steps))
