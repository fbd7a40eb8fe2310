"""The Muon optimiser (Jordan et al., 2024): orthogonalises the momentum of each matrix, so that no direction dominates.

PyTorch's Muon updates one matrix at a time. A base model has 96, which means 1,500 small kernel launches per step. Here
matrices of the same shape are updated as one batch. A test checks that both give the same updates.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

MOMENTUM = 0.95
ITERATIONS = 5
COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""Of the polynomial `a x + b x^3 + c x^5`, which in five iterations brings singular values close to 1 (published)."""
MATCH = 0.2
"""The root mean square of Adam's updates (Liu et al., 2025), so that one learning rate serves both optimisers."""


class Muon:
    """Updates matrices (possibly none). Those of the same shape, up to transposition, are one batch."""

    def __init__(self, matrices: Sequence[nn.Parameter]) -> None:
        by_shape: dict[tuple[int, ...], list[nn.Parameter]] = {}
        for each in matrices:
            by_shape.setdefault(tuple(sorted(each.shape)), []).append(each)
        self.batches = [
            (each, torch.zeros(len(each), *shape, device=each[0].device)) for shape, each in by_shape.items()
        ]
        self.momentum = {
            matrix: transposed(momentum, is_tall(matrix))
            for each, momenta in self.batches
            for matrix, momentum in zip(each, momenta, strict=True)
        }

    @torch.no_grad()
    def step(self, rate: float, bad: Tensor) -> None:
        """Update every matrix, unless `bad` is 1."""
        for matrices, momenta in self.batches:
            gradients = torch.stack(
                [transposed(each.grad, is_tall(each)) for each in matrices if each.grad is not None]
            )
            # NaN times 0 is still NaN, so multiplying by 1 - bad is not enough.
            gradients.masked_fill_(bad.bool(), 0.0)
            momenta.lerp_(gradients, (1 - MOMENTUM) * (1 - bad))
            gradients.lerp_(momenta, MOMENTUM)  # Nesterov momentum
            size = MATCH * max(matrices[0].shape) ** 0.5
            updates = (orthogonal(gradients) * (rate * size * (1 - bad))).unbind()
            # In the memory layout of the matrices, so that one launch updates all.
            aligned = [
                transposed(each, is_tall(matrix)).contiguous() for each, matrix in zip(updates, matrices, strict=True)
            ]
            torch._foreach_sub_(list[Tensor](matrices), aligned)


def is_tall(matrix: Tensor) -> bool:
    return matrix.shape[0] > matrix.shape[1]


def transposed(matrix: Tensor, transpose: bool) -> Tensor:
    return matrix.mT if transpose else matrix


def orthogonal(wide: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Approximate the nearest orthogonal matrices: all singular values between 0.7 and 1.2. In bfloat16 on a GPU.

    The matrices must not be taller than wide, so that `x @ x.mT` is the smaller of the two Gram matrices.
    """
    a, b, c = COEFFICIENTS
    # Few CPUs have 16-bit matrix products.
    x = wide.to(dtype or (torch.bfloat16 if wide.is_cuda else torch.float32))
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.float()
