"""The Muon optimiser (Jordan et al., 2024): orthogonalises the momentum of each matrix, so that no direction dominates.

PyTorch's Muon updates one matrix at a time. A base model has 96, which means 1,500 small kernel launches per step. Here
matrices of the same shape are updated as one batch. A test checks that both give the same updates.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hark.model.torch_private import subtract_all

MOMENTUM = 0.95
ITERATIONS = 5
COEFFICIENTS = 3.4445, -4.7750, 2.0315
"""Of the polynomial `a x + b x^3 + c x^5`, which in five iterations brings singular values close to 1 (published)."""
UPDATE_RMS = 0.2
"""The root mean square of Adam's updates (Liu et al., 2025), so that one learning rate serves both optimisers."""


class Muon:
    """Updates matrices (possibly none). Those of the same shape, up to transposition, are one batch."""

    def __init__(self, matrices: Sequence[nn.Parameter]) -> None:
        by_shape: dict[tuple[int, ...], list[nn.Parameter]] = {}
        for matrix in matrices:
            by_shape.setdefault(tuple(sorted(matrix.shape)), []).append(matrix)
        self.batches = [
            (batch, torch.zeros(len(batch), *shape, device=batch[0].device)) for shape, batch in by_shape.items()
        ]
        self.momentum = {
            matrix: wide(momentum, matrix)
            for batch, momenta in self.batches
            for matrix, momentum in zip(batch, momenta, strict=True)
        }

    @torch.no_grad()
    def step(self, rate: float, bad: Tensor) -> None:
        """Update every matrix, unless `bad` is 1."""
        for matrices, momenta in self.batches:
            gradients = torch.stack([wide(matrix.grad, matrix) for matrix in matrices if matrix.grad is not None])
            # NaN times 0 is still NaN, so multiplying by 1 - bad is not enough.
            gradients.masked_fill_(bad.bool(), 0.0)
            momenta.lerp_(gradients, (1 - MOMENTUM) * (1 - bad))
            gradients.lerp_(momenta, MOMENTUM)  # Nesterov momentum
            size = UPDATE_RMS * max(matrices[0].shape) ** 0.5
            updates = (orthogonal(gradients) * (rate * size * (1 - bad))).unbind()
            # In the memory layout of the matrices, so that one launch updates all.
            aligned = [wide(update, matrix).contiguous() for update, matrix in zip(updates, matrices, strict=True)]
            subtract_all(matrices, aligned)


def wide(values: Tensor, matrix: Tensor) -> Tensor:
    """Transpose the values of a matrix if it is taller than wide; or transpose them back."""
    return values.mT if matrix.shape[0] > matrix.shape[1] else values


def orthogonal(matrices: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """Approximate the nearest orthogonal matrices: all singular values between 0.7 and 1.2. In bfloat16 on a GPU.

    The matrices must not be taller than wide, so that `x @ x.mT` is the smaller of the two Gram matrices.
    """
    a, b, c = COEFFICIENTS
    # Few CPUs have 16-bit matrix products.
    x = matrices.to(dtype or (torch.bfloat16 if matrices.is_cuda else torch.float32))
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.float()
