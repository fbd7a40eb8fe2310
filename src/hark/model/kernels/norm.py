"""A residual connection in one pass: `LayerNorm(x + Dropout(s))`, each tensor read and written once.

Left to the compiler, the sum and the norm live in float32 and take 7 ms of a step of 38; the bytes that must move need
1.5. Numbers are float32 inside, in whatever precision they come and go.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from hark.model.kernels.linear import add_parts

ROWS = 4
"""Rows at a time, forwards. Four of width 512 keep four warps busy."""
BACK_ROWS = 2
"""Backwards, where one warp does all, so that none waits for another at the sums."""
PROGRAMS = 1056
"""Of the backward pass: eight for each of an H200's multiprocessors. Each sums up its part of the weights' gradient."""


@triton.jit
def mixed(x):
    """All bits of the input in each bit of the output: multiplications and shifts of known good constants."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@triton.jit
def kept(seed, rows, columns, WIDTH: tl.constexpr, p):
    """1 / (1 - p) where dropout keeps a number, 0 where it drops it: a function of seed and place, so that the backward
    pass finds it again and nothing is stored."""
    place = (rows[:, None] * WIDTH + columns[None, :]).to(tl.uint32)
    chance = mixed(mixed(place + mixed(seed)) ^ seed)
    return tl.where((chance >> 8).to(tl.float32) * (1.0 / 16777216.0) >= p, 1.0 / (1.0 - p), 0.0)


@triton.jit
def summed(x_at, s_at, seed, rows, columns, there, p, WIDTH: tl.constexpr):
    """x + Dropout(s), and what dropout multiplied by."""
    at = rows[:, None] * WIDTH + columns[None, :]
    x = tl.load(x_at + at, mask=there, other=0.0).to(tl.float32)
    s = tl.load(s_at + at, mask=there, other=0.0).to(tl.float32)
    keep = kept(seed, rows, columns, WIDTH, p)
    return x + s * keep, keep


@triton.jit
def forward_rows(
    x_at, s_at, weight_at, bias_at, seed_at, y_at, mean_at, scale_at, n, p, eps,
    WIDTH: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    inside = columns < WIDTH
    there = (rows < n)[:, None] & inside[None, :]
    seed = tl.load(seed_at).to(tl.uint32)
    z, _ = summed(x_at, s_at, seed, rows, columns, there, p, WIDTH)
    mean = tl.sum(z, 1) / WIDTH
    centred = tl.where(inside[None, :], z - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, 1) / WIDTH + eps)
    weight = tl.load(weight_at + columns, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(bias_at + columns, mask=inside, other=0.0).to(tl.float32)
    y = centred * scale[:, None] * weight[None, :] + bias[None, :]
    tl.store(y_at + rows[:, None] * WIDTH + columns[None, :], y.to(y_at.dtype.element_ty), mask=there)
    tl.store(mean_at + rows, mean, mask=rows < n)
    tl.store(scale_at + rows, scale, mask=rows < n)


@triton.jit
def backward_rows(
    dy_at, x_at, s_at, weight_at, seed_at, mean_at, scale_at, dx_at, ds_at, parts_at, n, p,
    WIDTH: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    columns = tl.arange(0, COLUMNS)
    inside = columns < WIDTH
    weight = tl.load(weight_at + columns, mask=inside, other=0.0).to(tl.float32)
    seed = tl.load(seed_at).to(tl.uint32)
    dweight = tl.zeros([COLUMNS], tl.float32)
    dbias = tl.zeros([COLUMNS], tl.float32)
    for first in range(tl.program_id(0) * ROWS, n, tl.num_programs(0) * ROWS):
        rows = first + tl.arange(0, ROWS)
        there = (rows < n)[:, None] & inside[None, :]
        at = rows[:, None] * WIDTH + columns[None, :]
        z, keep = summed(x_at, s_at, seed, rows, columns, there, p, WIDTH)
        mean = tl.load(mean_at + rows, mask=rows < n, other=0.0)
        scale = tl.load(scale_at + rows, mask=rows < n, other=0.0)
        dy = tl.load(dy_at + at, mask=there, other=0.0).to(tl.float32)
        normal = tl.where(there, (z - mean[:, None]) * scale[:, None], 0.0)
        g = dy * weight[None, :]
        along = tl.sum(g * normal, 1) / WIDTH
        dz = scale[:, None] * (g - tl.sum(g, 1)[:, None] / WIDTH - normal * along[:, None])
        tl.store(dx_at + at, dz.to(dx_at.dtype.element_ty), mask=there)
        tl.store(ds_at + at, (dz * keep).to(ds_at.dtype.element_ty), mask=there)
        dweight += tl.sum(dy * normal, 0)
        dbias += tl.sum(dy, 0)
    part = parts_at + tl.program_id(0) * 2 * WIDTH + columns
    tl.store(part, dweight, mask=inside)
    tl.store(part + WIDTH, dbias, mask=inside)


class AddNorm(torch.autograd.Function):
    """`LayerNorm(x + Dropout(s))`, in the precision of s."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, s: Tensor, weight: Tensor, bias: Tensor, seed: Tensor, p: float, eps: float
    ) -> Tensor:
        x, s = x.contiguous(), s.contiguous()
        width, n = s.shape[-1], s.numel() // s.shape[-1]
        y = torch.empty_like(s)
        mean, scale = (torch.empty(n, dtype=torch.float32, device=s.device) for _ in range(2))
        columns = triton.next_power_of_2(width)
        forward_rows[(triton.cdiv(n, ROWS),)](
            x, s, weight, bias, seed, y, mean, scale, n, p, eps, WIDTH=width, COLUMNS=columns, ROWS=ROWS, num_warps=4
        )
        ctx.save_for_backward(x, s, weight, seed, mean, scale)
        ctx.p = p
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None, None, None]:
        x, s, weight, seed, mean, scale = ctx.saved_tensors
        width, n = s.shape[-1], s.numel() // s.shape[-1]
        programs = min(PROGRAMS, triton.cdiv(n, BACK_ROWS))
        dx, ds = torch.empty_like(x), torch.empty_like(s)
        parts = torch.empty(programs, 2 * width, dtype=torch.float32, device=s.device)
        backward_rows[(programs,)](
            dy.contiguous(), x, s, weight, seed, mean, scale, dx, ds, parts, n, ctx.p,
            WIDTH=width, COLUMNS=triton.next_power_of_2(width), ROWS=BACK_ROWS, num_warps=1,
        )  # fmt: skip
        dweight, dbias = add_parts(parts).split(width)
        return dx, ds, dweight, dbias, None, None, None


def add_norm(x: Tensor, s: Tensor, norm: nn.LayerNorm, p: float) -> Tensor:
    """With dropout of probability p, drawn by PyTorch's generator for this device."""
    seed = torch.randint(2**31 - 1, (1,), device=s.device)
    return AddNorm.apply(x, s, norm.weight, norm.bias, seed, p, norm.eps)
