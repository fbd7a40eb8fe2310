"""Fused residual connections: `LayerNorm(x + Dropout(s))` in one pass that reads and writes each tensor once.

With torch.compile, the sum and the norm are in float32 and take 7 ms of a step of 38; the memory traffic alone needs
1.5. The kernels compute in float32 for inputs and outputs of any precision. Pre-norm has the sub-layer between norm and
sum, so there the sum is left to the norm of the next sub-layer, which also returns it. RMSNorm (Zhang and Sennrich,
2019) is a layer norm without mean and bias.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hark.model.kernels.activation import add_parts
from hark.model.kernels.dropout import dropout_mask

ROWS = 4
"""Rows per program in the forward pass. Four of width 512 keep four warps busy."""
BACK_ROWS = 2
"""In the backward pass, with a single warp, so that the sums need no synchronisation."""
PROGRAMS = 1056
"""In the backward pass: eight per multiprocessor of an H200. Each accumulates a part of the weight gradient."""


@triton.jit
def residual_sum(x_at, s_at, seed_at, rows, columns, mask, p, WIDTH: tl.constexpr, ADD: tl.constexpr):
    """x + Dropout(s) and the dropout mask; without ADD, x alone."""
    at = rows[:, None] * WIDTH + columns[None, :]
    z = tl.load(x_at + at, mask=mask, other=0.0).to(tl.float32)
    keep = tl.full([1, 1], 0.0, tl.float32)
    if ADD:
        s = tl.load(s_at + at, mask=mask, other=0.0).to(tl.float32)
        keep = dropout_mask(tl.load(seed_at).to(tl.uint32), rows, columns, WIDTH, p)
        z += s * keep
    return z, keep


@triton.jit
def forward_rows(
    x_at, s_at, weight_at, bias_at, seed_at, z_at, y_at, mean_at, scale_at, n, p, eps,
    WIDTH: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr, ADD: tl.constexpr, KEEP: tl.constexpr,
    CENTRE: tl.constexpr,
):  # fmt: skip
    """With CENTRE, layer norm; otherwise RMSNorm, without `bias_at` and `mean_at`. With KEEP, the sum is kept, too."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    inside = columns < WIDTH
    mask = (rows < n)[:, None] & inside[None, :]
    z, _ = residual_sum(x_at, s_at, seed_at, rows, columns, mask, p, WIDTH, ADD)
    if KEEP:
        tl.store(z_at + rows[:, None] * WIDTH + columns[None, :], z.to(z_at.dtype.element_ty), mask=mask)
    centred = z
    if CENTRE:
        mean = tl.sum(z, 1) / WIDTH
        centred = tl.where(inside[None, :], z - mean[:, None], 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, 1) / WIDTH + eps)
    weight = tl.load(weight_at + columns, mask=inside, other=0.0).to(tl.float32)
    y = centred * scale[:, None] * weight[None, :]
    if CENTRE:
        y += tl.load(bias_at + columns, mask=inside, other=0.0).to(tl.float32)[None, :]
    tl.store(y_at + rows[:, None] * WIDTH + columns[None, :], y.to(y_at.dtype.element_ty), mask=mask)
    if CENTRE:
        tl.store(mean_at + rows, mean, mask=rows < n)
    tl.store(scale_at + rows, scale, mask=rows < n)


@triton.jit
def backward_rows(
    dy_at, dz_at, x_at, s_at, weight_at, seed_at, mean_at, scale_at, dx_at, ds_at, parts_at, n, p,
    WIDTH: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr, ADD: tl.constexpr, KEPT: tl.constexpr,
    BYPASS: tl.constexpr, CENTRE: tl.constexpr,
):  # fmt: skip
    """With BYPASS, dz is the gradient of x that bypasses the norm. With KEPT, `x_at` has the sum. With CENTRE, layer
    norm; otherwise RMSNorm, which has no `mean_at` and no gradient of a bias behind that of the weight."""
    columns = tl.arange(0, COLUMNS)
    inside = columns < WIDTH
    weight = tl.load(weight_at + columns, mask=inside, other=0.0).to(tl.float32)
    dweight = tl.zeros([COLUMNS], tl.float32)
    if CENTRE:
        dbias = tl.zeros([COLUMNS], tl.float32)
    for first in range(tl.program_id(0) * ROWS, n, tl.num_programs(0) * ROWS):
        rows = first + tl.arange(0, ROWS)
        mask = (rows < n)[:, None] & inside[None, :]
        at = rows[:, None] * WIDTH + columns[None, :]
        z, keep = residual_sum(x_at, s_at, seed_at, rows, columns, mask, p, WIDTH, ADD)
        if CENTRE:
            z -= tl.load(mean_at + rows, mask=rows < n, other=0.0)[:, None]
        scale = tl.load(scale_at + rows, mask=rows < n, other=0.0)
        dy = tl.load(dy_at + at, mask=mask, other=0.0).to(tl.float32)
        normal = tl.where(mask, z * scale[:, None], 0.0)
        g = dy * weight[None, :]
        along = tl.sum(g * normal, 1) / WIDTH
        if CENTRE:
            g -= tl.sum(g, 1)[:, None] / WIDTH
        dz = scale[:, None] * (g - normal * along[:, None])
        if BYPASS:
            dz += tl.load(dz_at + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(dx_at + at, dz.to(dx_at.dtype.element_ty), mask=mask)
        if KEPT:
            keep = dropout_mask(tl.load(seed_at).to(tl.uint32), rows, columns, WIDTH, p)
        if ADD or KEPT:
            tl.store(ds_at + at, (dz * keep).to(ds_at.dtype.element_ty), mask=mask)
        dweight += tl.sum(dy * normal, 0)
        if CENTRE:
            dbias += tl.sum(dy, 0)
    part = parts_at + tl.program_id(0) * (2 * WIDTH if CENTRE else WIDTH) + columns
    tl.store(part, dweight, mask=inside)
    if CENTRE:
        tl.store(part + WIDTH, dbias, mask=inside)


def normalise(
    x: Tensor, s: Tensor | None, weight: Tensor, bias: Tensor | None, seed: Tensor | None, p: float, eps: float,
    z: Tensor | None = None,
) -> tuple[Tensor, Tensor | None, Tensor]:  # fmt: skip
    """Return the norm of x + Dropout(s), in the precision of s, or of x alone; and the means and scales of the rows.
    Without a bias it is RMSNorm, which has no means. The sum itself is written to z, if there is one."""
    y = torch.empty_like(x if s is None else s)
    width, n = y.shape[-1], y.numel() // y.shape[-1]
    scale = torch.empty(n, dtype=torch.float32, device=x.device)
    mean = None if bias is None else torch.empty_like(scale)
    forward_rows[(triton.cdiv(n, ROWS),)](
        x, s, weight, bias, seed, z, y, mean, scale, n, p, eps,
        WIDTH=width, COLUMNS=triton.next_power_of_2(width), ROWS=ROWS, ADD=s is not None, KEEP=z is not None,
        CENTRE=bias is not None, num_warps=4,
    )  # fmt: skip
    return y, mean, scale


def normalise_backward(
    dy: Tensor, dz: Tensor | None, x: Tensor, s: Tensor | None, weight: Tensor, seed: Tensor | None,
    mean: Tensor | None, scale: Tensor, p: float, kept: bool = False,
) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:  # fmt: skip
    """Return the gradients of x, s, weight and bias. dz is the gradient of x that bypasses the norm. `kept`: x is the
    sum that was kept. Without means it is RMSNorm, which has no bias."""
    width, n = x.shape[-1], x.numel() // x.shape[-1]
    programs = min(PROGRAMS, triton.cdiv(n, BACK_ROWS))
    dx, ds = torch.empty_like(x), torch.empty_like(x if s is None else s) if kept or s is not None else None
    sums = width if mean is None else 2 * width
    parts = torch.empty(programs, sums, dtype=torch.float32, device=x.device)
    backward_rows[(programs,)](
        dy.contiguous(), None if dz is None else dz.contiguous(), x, s, weight, seed, mean, scale, dx, ds, parts, n, p,
        WIDTH=width, COLUMNS=triton.next_power_of_2(width), ROWS=BACK_ROWS,
        ADD=s is not None, KEPT=kept, BYPASS=dz is not None, CENTRE=mean is not None, num_warps=1,
    )  # fmt: skip
    dweight, *dbias = add_parts(parts).split(width)
    return dx, ds, dweight, dbias[0] if dbias else None


class AddNorm(torch.autograd.Function):
    """`LayerNorm(x + Dropout(s))`, in the precision of s; without a bias, RMSNorm instead."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, s: Tensor, weight: Tensor, bias: Tensor | None, seed: Tensor, p: float, eps: float
    ) -> Tensor:
        x, s = x.contiguous(), s.contiguous()
        y, mean, scale = normalise(x, s, weight, bias, seed, p, eps)
        ctx.save_for_backward(x, s, weight, seed, mean, scale)
        ctx.p = p
        return y

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, s, weight, seed, mean, scale = ctx.saved_tensors
        return *normalise_backward(dy, None, x, s, weight, seed, mean, scale, ctx.p), None, None, None


class AddNormWithSum(torch.autograd.Function):
    """Returns `z = x + Dropout(s)` and `LayerNorm(z)`, in the precision of s; without a bias, RMSNorm."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, s: Tensor, weight: Tensor, bias: Tensor | None, seed: Tensor, p: float, eps: float
    ) -> tuple[Tensor, Tensor]:
        z = torch.empty_like(s, memory_format=torch.contiguous_format)
        y, mean, scale = normalise(x.contiguous(), s.contiguous(), weight, bias, seed, p, eps, z)
        ctx.save_for_backward(z, weight, seed, mean, scale)
        ctx.p, ctx.dtype = p, x.dtype
        ctx.set_materialize_grads(False)
        return z, y

    @staticmethod
    def backward(ctx: Any, dz: Tensor | None, dy: Tensor) -> tuple[Tensor | None, ...]:
        z, weight, seed, mean, scale = ctx.saved_tensors
        dx, *others = normalise_backward(dy, dz, z, None, weight, seed, mean, scale, ctx.p, kept=True)
        return dx.to(ctx.dtype), *others, None, None, None


class NormWithInput(torch.autograd.Function):
    """Returns x and `LayerNorm(x)`, so that one backward pass adds the gradients of both; without a bias, RMSNorm."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
        y, mean, scale = normalise(x.contiguous(), None, weight, bias, None, 0.0, eps)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x.contiguous(), weight, mean, scale)
        return x, y

    @staticmethod
    def backward(ctx: Any, dz: Tensor | None, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, mean, scale = ctx.saved_tensors
        dx, _, dweight, dbias = normalise_backward(dy, dz, x, None, weight, None, mean, scale, 0.0)
        return dx, dweight, dbias, None
