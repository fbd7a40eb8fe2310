"""Ways to run a layer. `layers` and `attention` say what is computed; a way supplies the operations that compute it.

`PLAIN` is PyTorch as it stands. `kernels.fused.FusedWay` trains with our own kernels, and `cache.CachedWay` decodes a
token at a time. A way is handed down with the call; the modules hold weights only.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Stream = Any
"""What flows from one residual connection to the next: a tensor, or something that stands for one until the way's own
`norm` reads it."""


class Way:
    """The operations that layers are made of, besides attention itself, which is the pattern's. Here each is as PyTorch
    has it, on any device and in any precision: the reference of the other ways."""

    def project(self, x: Tensor, *linears: nn.Linear, relu: bool = False) -> tuple[Tensor, ...]:
        """Several projections of one input, with ReLU where asked for."""
        return tuple(F.relu(linear(x)) if relu else linear(x) for linear in linears)

    def norm(self, x: Stream, norm: nn.LayerNorm) -> tuple[Tensor, Tensor]:
        """x, to be used from here on, and `LayerNorm(x)`."""
        return x, norm(x)

    def add(self, x: Tensor, s: Tensor, dropout: nn.Dropout) -> Stream:
        """`x + Dropout(s)`."""
        return x + dropout(s)

    def add_norm(self, x: Tensor, s: Tensor, norm: nn.LayerNorm, dropout: nn.Dropout) -> Tensor:
        """`LayerNorm(x + Dropout(s))`."""
        return norm(x + dropout(s))


PLAIN = Way()


class Joined:
    """Copies of projections of one input, one below the other: one wide product is faster than several narrow ones."""

    def __init__(self, *linears: nn.Linear, dtype: torch.dtype | None = None) -> None:
        biases = [linear.bias for linear in linears if linear.bias is not None]
        self.originals = [*(linear.weight for linear in linears), *biases]
        self.widths = [linear.out_features for linear in linears]
        self.weight = torch.cat([linear.weight.detach() for linear in linears]).to(dtype)
        self.bias = torch.cat([bias.detach() for bias in biases]).to(dtype) if biases else None

    @property
    def copies(self) -> list[Tensor]:
        """Where the copy of each of the originals lies."""
        return [each for whole in (self.weight, self.bias) if whole is not None for each in whole.split(self.widths)]

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        return F.linear(x, self.weight, self.bias).split(self.widths, dim=-1)


def projections(module: nn.Module) -> Iterator[tuple[nn.Linear, ...]]:
    """The projections within a module, those of one input together, as `Way.project` is called with them."""
    for each in module.modules():
        yield from getattr(each, "projections", ())
