"""Backends for running layers. `layers` and `attention` define what is computed; a backend supplies the operations.

`PLAIN` uses PyTorch's own. `kernels.fused.FusedBackend` trains with our kernels, and `cache.CachedBackend` decodes one
token at a time. A backend is passed down with each call; the modules hold only weights.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hark.config import Activation

Norm = nn.LayerNorm | nn.RMSNorm
Linear = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""From an input, a weight and a bias to their projection, as `F.linear`."""
FEW_ROWS = 8
Stream = Any
"""What one residual connection passes to the next: a tensor, or a value that the backend's `norm` turns into one."""


def activated(activation: Activation | None, *parts: Tensor) -> tuple[Tensor, ...]:
    """The parts themselves; or an activation of one, or of a gate times another."""
    if activation is None:
        return parts
    value = activate(activation, parts[0])
    return (value if len(parts) == 1 else value * parts[1],)


def activate(activation: Activation, x: Tensor) -> Tensor:
    """The non-linearity, or in a gated network that of the gate."""
    match activation:
        case "relu":
            return F.relu(x)
        case "gelu":
            return F.gelu(x)
        case "gelu_tanh" | "geglu":
            return F.gelu(x, approximate="tanh")
        case "swish" | "swiglu":
            return F.silu(x)


class Backend:
    """The operations of a layer except attention, which the pattern computes. This is the PyTorch implementation for
    any device and precision, and the reference for the other backends."""

    def project(self, x: Tensor, *linears: nn.Linear, activation: Activation | None = None) -> tuple[Tensor, ...]:
        """Several projections of one input; or an activation of one, or of a gate times another."""
        return activated(activation, *(linear(x) for linear in linears))

    def norm(self, x: Stream, norm: Norm) -> tuple[Tensor, Tensor]:
        """x as a tensor, for the residual connection, and `LayerNorm(x)`."""
        return x, norm(x)

    def add(self, x: Tensor, s: Tensor, dropout: nn.Dropout) -> Stream:
        """`x + Dropout(s)`."""
        return x + dropout(s)

    def add_norm(self, x: Tensor, s: Tensor, norm: Norm, dropout: nn.Dropout) -> Tensor:
        """`LayerNorm(x + Dropout(s))`."""
        return norm(x + dropout(s))


PLAIN = Backend()


def few_rows_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear`, but turned round where a CPU multiplies few rows: MKL then takes about half the time, and sums each
    row in the same order wherever it stands."""
    if len(x) > FEW_ROWS or x.is_cuda or x.dtype != torch.float32:
        return F.linear(x, weight, bias)
    out = torch.mm(weight, x.T) if bias is None else torch.addmm(bias[:, None], weight, x.T)
    return out.T.contiguous()


class JoinedLinear:
    """Stacked copies of several projections of one input: one wide product is faster than several narrow ones."""

    def __init__(self, *linears: nn.Linear, dtype: torch.dtype | None = None) -> None:
        biases = [linear.bias for linear in linears if linear.bias is not None]
        self.originals = [*(linear.weight for linear in linears), *biases]
        self.widths = [linear.out_features for linear in linears]
        self.weight = torch.cat([linear.weight.detach() for linear in linears]).to(dtype)
        self.bias = torch.cat([bias.detach() for bias in biases]).to(dtype) if biases else None

    @property
    def copies(self) -> list[Tensor]:
        """Views of the copies, in the order of `originals`."""
        return [each for whole in (self.weight, self.bias) if whole is not None for each in whole.split(self.widths)]

    def share(self) -> None:
        """Make the originals views of the copies, so that the memory is not taken twice."""
        for original, copy in zip(self.originals, self.copies, strict=True):
            original.data = copy

    def __call__(self, x: Tensor, linear: Linear = F.linear) -> tuple[Tensor, ...]:
        return linear(x, self.weight, self.bias).split(self.widths, dim=-1)


def projections(module: nn.Module) -> Iterator[tuple[nn.Linear, ...]]:
    """The projections in a module, grouped by input as `Backend.project` receives them."""
    for each in module.modules():
        yield from getattr(each, "projections", ())
