"""What Hark uses of PyTorch that PyTorch does not document: here only, so that a new release is checked in one place.

The operations on lists launch one kernel for many tensors instead of one for each. `tests/model/test_torch_private.py`
compares each with what it stands for.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

Tensors = Sequence[Tensor]


def copy_all(into: Tensors, values: Tensors) -> None:
    torch._foreach_copy_(list(into), list(values))


def add_to_all(tensors: Tensors, number: float) -> None:
    torch._foreach_add_(list(tensors), number)


def subtract_all(tensors: Tensors, values: Tensors) -> None:
    torch._foreach_sub_(list(tensors), list(values))


def multiply_all(tensors: Tensors, factor: Tensor) -> None:
    torch._foreach_mul_(list(tensors), factor)


def lerp_all(tensors: Tensors, ends: Tensors, share: float) -> None:
    """Move each tensor a share of the way to its end."""
    torch._foreach_lerp_(list(tensors), list(ends), share)


def linear_relu(bias: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """`relu(x W + b)` in one kernel."""
    return torch._addmm_activation(bias, x, weight)


def adam(
    weights: Tensors,
    gradients: Tensors,
    means: Tensors,
    squares: Tensors,
    steps: Tensors,
    rate: float,
    betas: tuple[float, float],
    eps: float,
    skip: Tensor,
) -> None:
    """One step of Adam for all weights, unless `skip` is 1. `steps` count this one already.

    `torch.optim` calls the same kernel, but first imports PyTorch's compiler, which takes a second and a half.
    """
    torch._fused_adam_(
        list(weights),
        list(gradients),
        list(means),
        list(squares),
        [],
        list(steps),
        lr=rate,
        beta1=betas[0],
        beta2=betas[1],
        weight_decay=0.0,
        eps=eps,
        amsgrad=False,
        maximize=False,
        grad_scale=None,
        found_inf=skip,  # as for a gradient scaler
    )
