"""Matrix products with a bias and optional ReLU, with a faster backward pass.

PyTorch sums the gradient of a bias in a separate pass, at a third of the memory bandwidth. Here one pass applies the
gradient of ReLU and sums the columns. The gradient of the weights is accumulated and returned in float32.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from hark.model.torch_private import linear_relu

ROWS = 32
COLUMNS = 128
PARTS = 256
"""The number of partial sums over the rows, added up in a fixed order so that results are deterministic."""


@triton.jit
def sum_part(
    dy_at, y_at, dz_at, sums_at, n, WIDTH: tl.constexpr, RELU: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Sum the columns over some of the rows. With RELU, mask the gradient first and store it."""
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < WIDTH
    total = tl.zeros([ROWS, COLUMNS], tl.float32)  # reduced across threads only once, at the end
    for first in range(tl.program_id(1) * ROWS, n, tl.num_programs(1) * ROWS):
        rows = first + tl.arange(0, ROWS)
        mask = (rows < n)[:, None] & inside[None, :]
        at = rows[:, None] * WIDTH + columns[None, :]
        dz = tl.load(dy_at + at, mask=mask, other=0.0)
        if RELU:
            dz = tl.where(tl.load(y_at + at, mask=mask, other=0.0) > 0, dz, 0.0)
            tl.store(dz_at + at, dz, mask=mask)
        total += dz.to(tl.float32)
    tl.store(sums_at + tl.program_id(1) * WIDTH + columns, tl.sum(total, 0), mask=inside)


@triton.jit
def sum_parts(parts_at, sums_at, n_parts, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < WIDTH
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for first in range(0, n_parts, ROWS):
        rows = first + tl.arange(0, ROWS)
        mask = (rows < n_parts)[:, None] & inside[None, :]
        total += tl.load(parts_at + rows[:, None] * WIDTH + columns[None, :], mask=mask, other=0.0)
    tl.store(sums_at + columns, tl.sum(total, 0), mask=inside)


def add_parts(parts: Tensor) -> Tensor:
    """Sum a few hundred rows over the first axis."""
    n_parts, width = parts.shape
    sums = parts.new_empty(width)
    sum_parts[(triton.cdiv(width, 16),)](parts, sums, n_parts, WIDTH=width, ROWS=64, COLUMNS=16, num_warps=4)
    return sums


def relu_backward(dy: Tensor, y: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the gradient before ReLU (unchanged if y is None), and its sum over all rows in float32."""
    n, width = dy.shape
    dz = dy if y is None else torch.empty_like(dy)
    parts = dy.new_empty(PARTS, width, dtype=torch.float32)
    sum_part[(triton.cdiv(width, COLUMNS), PARTS)](
        dy, dy if y is None else y, dz, parts, n,
        WIDTH=width, RELU=y is not None, ROWS=ROWS, COLUMNS=COLUMNS, num_warps=4,
    )  # fmt: skip
    return dz, add_parts(parts)


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
    """`x W^T + b`, optionally with ReLU. W and b are stacked 16-bit copies of several weights and biases. There is one
    output per weight, adjacent in memory; the gradients are those of the original weights and biases."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, relu: bool, *originals: nn.Parameter
    ) -> tuple[Tensor, ...]:
        x_ND = x.flatten(0, -2)
        if bias is None:
            y = x_ND @ weight.T
            y = y.relu_() if relu else y
        else:
            y = (linear_relu if relu else torch.addmm)(bias, x_ND, weight.T)
        ctx.save_for_backward(x_ND, weight, y if relu else None)
        ctx.shape, ctx.has_bias = x.shape, bias is not None
        ctx.rows = [len(each) for each in originals if each.ndim == 2]
        return y.unflatten(0, x.shape[:-1]).split(ctx.rows, dim=-1)

    @staticmethod
    def backward(ctx: Any, *dys: Tensor) -> tuple[Tensor | None, ...]:
        x_ND, weight, y = ctx.saved_tensors
        dy = join([each.reshape(-1, each.shape[-1]) for each in dys])
        dz, dbias = relu_backward(dy, y) if ctx.has_bias or y is not None else (dy, None)
        dx = (dz @ weight).view(ctx.shape)
        dweights = product(dz.T, x_ND).split(ctx.rows)
        dbiases = dbias.split(ctx.rows) if ctx.has_bias and dbias is not None else ()
        return dx, None, None, None, *dweights, *dbiases
