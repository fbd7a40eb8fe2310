"""The backend that trains with our own kernels."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from hark.config import Activation
from hark.model.backends import Backend, JoinedLinear, Norm, projections
from hark.model.kernels.dropout import draw_seed
from hark.model.kernels.linear import Product
from hark.model.kernels.norm import AddNorm, AddNormWithSum, NormWithInput
from hark.model.torch_private import copy_all


class DroppedSum(NamedTuple):
    """The sum `x + Dropout(s)` of pre-norm, left to the next norm, which computes both in one pass."""

    x: Tensor
    s: Tensor
    p: float


class FusedBackend(Backend):
    """Uses 16-bit copies of the weights, joined for projections of one input, and one pass per residual connection."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self.joined = {linears: JoinedLinear(*linears, dtype=dtype) for linears in projections(model)}

    @torch.no_grad()
    def refresh(self) -> None:
        """Update the copies from the weights, in one launch."""
        every = self.joined.values()
        copy_all([x for each in every for x in each.copies], [x for each in every for x in each.originals])

    def project(self, x: Tensor, *linears: nn.Linear, activation: Activation | None = None) -> tuple[Tensor, ...]:
        """Cast x to 16 bits: the input of the first layer is in float32, like the embeddings."""
        joined = self.joined[linears]
        return Product.apply(x.to(joined.weight.dtype), joined.weight, joined.bias, activation, *joined.originals)

    def norm(self, x: Tensor | DroppedSum, norm: Norm) -> tuple[Tensor, Tensor]:
        if isinstance(x, DroppedSum):
            return AddNormWithSum.apply(x.x, x.s, norm.weight, bias_of(norm), draw_seed(x.s), x.p, norm.eps)
        return NormWithInput.apply(x, norm.weight, bias_of(norm), norm.eps)

    def add(self, x: Tensor, s: Tensor, dropout: nn.Dropout) -> DroppedSum:
        return DroppedSum(x, s, rate(dropout))

    def add_norm(self, x: Tensor, s: Tensor, norm: Norm, dropout: nn.Dropout) -> Tensor:
        return AddNorm.apply(x, s, norm.weight, bias_of(norm), draw_seed(s), rate(dropout), norm.eps)


def bias_of(norm: Norm) -> Tensor | None:
    return norm.bias if isinstance(norm, nn.LayerNorm) else None


def rate(dropout: nn.Dropout) -> float:
    return dropout.p if dropout.training else 0.0
