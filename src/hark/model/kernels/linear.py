"""Matrix products with a bias, and with ReLU: what is left to win beside the product itself is in the backward pass.

PyTorch sums a bias's gradient in a pass of its own at a third of the memory's speed. Here one pass applies the gradient
of ReLU and sums the columns as well. The gradient of the weights is summed, and given, in float32.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

ROWS = 32
COLUMNS = 128
PARTS = 256
"""Parts of the rows that are summed apart, and together in the end, always in the same order."""


@triton.jit
def sum_part(
    dy_at, y_at, dz_at, sums_at, n, WIDTH: tl.constexpr, RELU: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """The columns' sums over some of the rows; with RELU, of those gradients that it lets through, which are stored."""
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < WIDTH
    total = tl.zeros([ROWS, COLUMNS], tl.float32)  # threads sum apart, and only in the end together
    for first in range(tl.program_id(1) * ROWS, n, tl.num_programs(1) * ROWS):
        rows = first + tl.arange(0, ROWS)
        there = (rows < n)[:, None] & inside[None, :]
        at = rows[:, None] * WIDTH + columns[None, :]
        dz = tl.load(dy_at + at, mask=there, other=0.0)
        if RELU:
            dz = tl.where(tl.load(y_at + at, mask=there, other=0.0) > 0, dz, 0.0)
            tl.store(dz_at + at, dz, mask=there)
        total += dz.to(tl.float32)
    tl.store(sums_at + tl.program_id(1) * WIDTH + columns, tl.sum(total, 0), mask=inside)


@triton.jit
def sum_parts(parts_at, sums_at, n_parts, WIDTH: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < WIDTH
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for first in range(0, n_parts, ROWS):
        rows = first + tl.arange(0, ROWS)
        there = (rows < n_parts)[:, None] & inside[None, :]
        total += tl.load(parts_at + rows[:, None] * WIDTH + columns[None, :], mask=there, other=0.0)
    tl.store(sums_at + columns, tl.sum(total, 0), mask=inside)


def add_parts(parts: Tensor) -> Tensor:
    """The sum over the first axis of a few hundred rows."""
    n_parts, width = parts.shape
    sums = parts.new_empty(width)
    sum_parts[(triton.cdiv(width, 16),)](parts, sums, n_parts, WIDTH=width, ROWS=64, COLUMNS=16, num_warps=4)
    return sums


def through_relu(dy: Tensor, y: Tensor | None) -> tuple[Tensor, Tensor]:
    """The gradient before ReLU (none: as it comes), and its sum over all rows, in float32."""
    n, width = dy.shape
    dz = dy if y is None else torch.empty_like(dy)
    parts = dy.new_empty(PARTS, width, dtype=torch.float32)
    sum_part[(triton.cdiv(width, COLUMNS), PARTS)](
        dy, dy if y is None else y, dz, parts, n,
        WIDTH=width, RELU=y is not None, ROWS=ROWS, COLUMNS=COLUMNS, num_warps=4,
    )  # fmt: skip
    return dz, add_parts(parts)


def product(a: Tensor, b: Tensor, onto: Tensor | None = None) -> Tensor:
    """a b in float32, added to what is there."""
    if not a.is_cuda:  # PyTorch can do it on a GPU only
        return a.float() @ b.float() + (0.0 if onto is None else onto)
    return torch.mm(a, b, out_dtype=torch.float32) if onto is None else torch.addmm(onto, a, b, out_dtype=onto.dtype)


def side_by_side(parts: Sequence[Tensor]) -> bool:
    """Whether matrices lie in memory as the columns of one, as the outputs of `Product` do."""
    first, widths = parts[0], [part.shape[1] for part in parts]
    kinds = {(len(part), part.stride(), part.untyped_storage().data_ptr()) for part in parts}
    offsets = [part.storage_offset() - first.storage_offset() for part in parts]
    ends = list(accumulate(widths))
    return len(kinds) == 1 and first.stride() == (ends[-1], 1) and offsets == [0, *ends[:-1]]


def join(parts: Sequence[Tensor]) -> Tensor:
    """The columns of several matrices as one matrix; nothing is copied where they lie side by side."""
    if side_by_side(parts):
        return parts[0].as_strided((len(parts[0]), parts[0].stride(0)), parts[0].stride())
    return torch.cat(tuple(parts), dim=1)


class Product(torch.autograd.Function):
    """`x W^T + b`, and ReLU of it where asked for. W and b are copies in 16 bits of several weights and biases, one
    below the other. There is an output for each weight, all side by side in memory; the gradients are for the weights
    and biases themselves."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, relu: bool, *originals: nn.Parameter
    ) -> tuple[Tensor, ...]:
        x_ND = x.flatten(0, -2)
        if bias is None:
            y = x_ND @ weight.T
            y = y.relu_() if relu else y
        else:
            y = (torch._addmm_activation if relu else torch.addmm)(bias, x_ND, weight.T)
        ctx.save_for_backward(x_ND, weight, y if relu else None)
        ctx.shape, ctx.has_bias = x.shape, bias is not None
        ctx.rows = [len(each) for each in originals if each.ndim == 2]
        return y.unflatten(0, x.shape[:-1]).split(ctx.rows, dim=-1)

    @staticmethod
    def backward(ctx: Any, *dys: Tensor) -> tuple[Tensor | None, ...]:
        x_ND, weight, y = ctx.saved_tensors
        dy = join([each.reshape(-1, each.shape[-1]) for each in dys])
        dz, dbias = through_relu(dy, y) if ctx.has_bias or y is not None else (dy, None)
        dx = (dz @ weight).view(ctx.shape)
        dweights = product(dz.T, x_ND).split(ctx.rows)
        dbiases = dbias.split(ctx.rows) if ctx.has_bias and dbias is not None else ()
        return dx, None, None, None, *dweights, *dbiases
