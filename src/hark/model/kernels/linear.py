"""Matrix products with a bias and an optional activation, with a faster backward pass.

ReLU is part of the product; other activations take a pass of their own. One pass applies the gradient of any of them
and sums the columns for the bias. The gradient of the weights is accumulated and returned in float32.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from hark.config import Activation
from hark.model.kernels.activation import activate, activation_backward
from hark.model.torch_private import linear_relu


def product(a: Tensor, b: Tensor, onto: Tensor | None = None) -> Tensor:
    """Multiply 16-bit matrices with a float32 result, optionally added to `onto`."""
    if not a.is_cuda:  # PyTorch supports out_dtype only on a GPU
        return a.float() @ b.float() + (0.0 if onto is None else onto)
    return torch.mm(a, b, out_dtype=torch.float32) if onto is None else torch.addmm(onto, a, b, out_dtype=onto.dtype)


def are_adjacent(parts: Sequence[Tensor]) -> bool:
    """Whether matrices are adjacent columns of one matrix in memory, like the outputs of `Product`."""
    first, widths = parts[0], [part.shape[1] for part in parts]
    kinds = {(len(part), part.stride(), part.untyped_storage().data_ptr()) for part in parts}
    offsets = [part.storage_offset() - first.storage_offset() for part in parts]
    ends = list(accumulate(widths))
    return len(kinds) == 1 and first.stride() == (ends[-1], 1) and offsets == [0, *ends[:-1]]


def join(parts: Sequence[Tensor]) -> Tensor:
    """Concatenate the columns of matrices, without copying if they are adjacent in memory."""
    if are_adjacent(parts):
        return parts[0].as_strided((len(parts[0]), parts[0].stride(0)), parts[0].stride())
    return torch.cat(tuple(parts), dim=1)


class Product(torch.autograd.Function):
    """`x W^T + b`. W and b are stacked 16-bit copies of several weights and biases; the gradients are those of the
    original ones. There is one output per weight, adjacent in memory; with an activation, there is only its result."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        activation: Activation | None,
        *originals: nn.Parameter,
    ) -> tuple[Tensor, ...]:
        x_ND, relu = x.flatten(0, -2), activation == "relu"
        if bias is None:
            z = x_ND @ weight.T
            z = z.relu_() if relu else z
        else:
            z = (linear_relu if relu else torch.addmm)(bias, x_ND, weight.T)
        ctx.save_for_backward(x_ND, weight, z if activation else None)
        ctx.shape, ctx.has_bias, ctx.activation = x.shape, bias is not None, activation
        ctx.rows = [len(each) for each in originals if each.ndim == 2]
        if activation:
            return ((z if relu else activate(z, activation)).unflatten(0, x.shape[:-1]),)
        return z.unflatten(0, x.shape[:-1]).split(ctx.rows, dim=-1)

    @staticmethod
    def backward(ctx: Any, *dys: Tensor) -> tuple[Tensor | None, ...]:
        x_ND, weight, z = ctx.saved_tensors
        dy = join([each.reshape(-1, each.shape[-1]) for each in dys])
        dz, dbias = activation_backward(dy, z, ctx.activation, with_sums=ctx.has_bias)
        dx = (dz @ weight).view(ctx.shape)
        dweights = product(dz.T, x_ND).split(ctx.rows)
        dbiases = () if dbias is None else dbias.split(ctx.rows)
        return dx, None, None, None, *dweights, *dbiases
