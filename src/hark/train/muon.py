"""Muon (Jordan et al., 2024): the update of a matrix is its momentum made orthogonal, so that no direction dominates.

PyTorch has one too, but it takes one matrix after the other: a base model has 96, and 1,500 small kernels would have to
be started at each step. Here matrices of one shape are one batch. A test holds the two together.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
ROUNDS = 5
COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""Of the polynomial `a x + b x^3 + c x^5`, which after five rounds brings singular values near to 1 (published)."""
MATCH = 0.2
"""The size of Adam's updates, as a root mean square (Liu et al., 2025): so one learning rate serves both."""


class Muon:
    """The updates of some matrices; none will do. Matrices of one shape, or of that shape turned, are one batch."""

    def __init__(self, matrices: Sequence[nn.Parameter]) -> None:
        by_shape: dict[tuple[int, ...], list[nn.Parameter]] = {}
        for each in matrices:
            by_shape.setdefault(tuple(sorted(each.shape)), []).append(each)
        self.batches = [
            (each, torch.zeros(len(each), *shape, device=each[0].device)) for shape, each in by_shape.items()
        ]
        self.momentum = {
            matrix: turned(momentum, is_tall(matrix))
            for each, momenta in self.batches
            for matrix, momentum in zip(each, momenta, strict=True)
        }

    @torch.no_grad()
    def step(self, rate: float, bad: Tensor) -> None:
        """Update every matrix; where `bad` is 1, nothing changes."""
        for matrices, momenta in self.batches:
            gradients = torch.stack([turned(each.grad, is_tall(each)) for each in matrices if each.grad is not None])
            # A number that is none would stay one in a sum, whatever it is multiplied by.
            gradients.masked_fill_(bad.bool(), 0.0)
            momenta.lerp_(gradients, (1 - MOMENTUM) * (1 - bad))
            gradients.lerp_(momenta, MOMENTUM)  # Nesterov's look ahead
            size = MATCH * max(matrices[0].shape) ** 0.5
            updates = (orthogonal(gradients) * (rate * size * (1 - bad))).unbind()
            # As they lie in memory, so that all go in one launch.
            laid = [turned(each, is_tall(matrix)).contiguous() for each, matrix in zip(updates, matrices, strict=True)]
            torch._foreach_sub_(list[Tensor](matrices), laid)


def is_tall(matrix: Tensor) -> bool:
    return matrix.shape[0] > matrix.shape[1]


def turned(matrix: Tensor, turn: bool) -> Tensor:
    return matrix.mT if turn else matrix


def orthogonal(wide: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Approximate the nearest orthogonal matrices: all singular values between 0.7 and 1.2. On a GPU in bfloat16.

    None may be higher than wide: the products of rows with rows are then the smaller ones.
    """
    a, b, c = COEFFICIENTS
    # Few CPUs multiply in 16 bits.
    x = wide.to(dtype or (torch.bfloat16 if wide.is_cuda else torch.float32))
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.float()
