"""The way to run layers with our own kernels, for training."""

import torch
from torch import Tensor, nn

from hark.model.kernels.linear import Product
from hark.model.kernels.norm import AddDropped, AddNorm, NormBeside, draw_seed
from hark.model.ways import Joined, Way, projections


class FusedWay(Way):
    """Products of 16-bit copies of the weights, those of one input joined; residual connections in one pass each."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self.joined = {linears: Joined(*linears, dtype=dtype) for linears in projections(model)}

    @torch.no_grad()
    def refresh(self) -> None:
        """Bring the copies up to date with the weights, all in one go."""
        every = self.joined.values()
        torch._foreach_copy_([x for each in every for x in each.copies], [x for each in every for x in each.originals])

    def project(self, x: Tensor, *linears: nn.Linear, relu: bool = False) -> tuple[Tensor, ...]:
        """The first layer's input is in float32, as the embeddings are; everything after it is in 16 bits."""
        joined = self.joined[linears]
        return Product.apply(x.to(joined.weight.dtype), joined.weight, joined.bias, relu, *joined.originals)

    def norm(self, x: Tensor, norm: nn.LayerNorm) -> tuple[Tensor, Tensor]:
        return NormBeside.apply(x, norm.weight, norm.bias, norm.eps)

    def add(self, x: Tensor, s: Tensor, dropout: nn.Dropout) -> Tensor:
        return AddDropped.apply(x, s, draw_seed(s), rate(dropout))

    def add_norm(self, x: Tensor, s: Tensor, norm: nn.LayerNorm, dropout: nn.Dropout) -> Tensor:
        return AddNorm.apply(x, s, norm.weight, norm.bias, draw_seed(s), rate(dropout), norm.eps)


def rate(dropout: nn.Dropout) -> float:
    return dropout.p if dropout.training else 0.0
