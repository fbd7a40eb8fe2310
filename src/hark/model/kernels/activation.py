"""Activations and their gradients, also of gated feed-forward networks, each in one pass over memory.

PyTorch takes five passes forward and thirteen backward for a gated network, and sums the gradient of a bias in a pass
of its own, at a third of the memory bandwidth. Here the pass that computes a gradient also sums its columns.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from hark.config import Activation

ROWS = 32
COLUMNS = 128
PARTS = 256
"""The number of partial sums over the rows, added up in a fixed order so that results are deterministic."""
OF_GATE = {"swiglu": "swish", "geglu": "gelu_tanh"}
"""What gated networks apply to the gate."""
FLAT = tl.constexpr(1.5957691216057308)
"""2 sqrt(2 / pi)"""
CUBIC = tl.constexpr(0.044715)


@triton.jit
def value_and_slope(z, KIND: tl.constexpr):
    """An activation and its derivative. `tanh` of the approximate GELU is written as a sigmoid."""
    if KIND == "gelu":
        share = 0.5 + 0.5 * tl.math.erf(z * 0.7071067811865476)
        slope = share + z * tl.exp(-0.5 * z * z) * 0.3989422804014327
    elif KIND == "gelu_tanh":
        share = tl.sigmoid(z * (1.0 + z * z * CUBIC) * FLAT)
        slope = share + z * share * (1.0 - share) * (1.0 + z * z * 3.0 * CUBIC) * FLAT
    else:
        share = tl.sigmoid(z)
        slope = share + z * share * (1.0 - share)
    return z * share, slope


@triton.jit
def forward_tile(
    z_at, y_at, n, WIDTH: tl.constexpr, GATED: tl.constexpr, KIND: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    """Apply an activation; if gated, to the first half of the columns, times the second."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (rows < n)[:, None] & (columns < WIDTH)[None, :]
    at = z_at + rows[:, None] * (2 * WIDTH if GATED else WIDTH) + columns[None, :]
    y, _ = value_and_slope(tl.load(at, mask=mask, other=0.0).to(tl.float32), KIND)
    if GATED:
        y *= tl.load(at + WIDTH, mask=mask, other=0.0).to(tl.float32)
    tl.store(y_at + rows[:, None] * WIDTH + columns[None, :], y.to(y_at.dtype.element_ty), mask=mask)


@triton.jit
def backward_part(
    dy_at, z_at, dz_at, sums_at, n, WIDTH: tl.constexpr, GATED: tl.constexpr, KIND: tl.constexpr, SUM: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Compute the gradient before the activation for some of the rows, and with SUM sum its columns. For ReLU, `z_at`
    has its output. Without an activation there is only the sum."""
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = columns < WIDTH
    whole: tl.constexpr = 2 * WIDTH if GATED else WIDTH
    total = tl.zeros([ROWS, COLUMNS], tl.float32)  # reduced across threads only once, at the end
    total_inner = tl.zeros([ROWS, COLUMNS], tl.float32)
    for first in range(tl.program_id(1) * ROWS, n, tl.num_programs(1) * ROWS):
        rows = first + tl.arange(0, ROWS)
        mask = (rows < n)[:, None] & inside[None, :]
        at = rows[:, None] * whole + columns[None, :]
        dz = tl.load(dy_at + rows[:, None] * WIDTH + columns[None, :], mask=mask, other=0.0)
        if KIND == "relu":
            dz = tl.where(tl.load(z_at + at, mask=mask, other=0.0) > 0, dz, 0.0)
        elif KIND != "none":
            dy = dz.to(tl.float32)
            y, slope = value_and_slope(tl.load(z_at + at, mask=mask, other=0.0).to(tl.float32), KIND)
            dz = dy * slope
            if GATED:
                dz *= tl.load(z_at + at + WIDTH, mask=mask, other=0.0).to(tl.float32)
                tl.store(dz_at + at + WIDTH, (dy * y).to(dz_at.dtype.element_ty), mask=mask)
                total_inner += dy * y
        if KIND != "none":
            tl.store(dz_at + at, dz.to(dz_at.dtype.element_ty), mask=mask)
        total += dz.to(tl.float32)
    if SUM:
        sums = sums_at + tl.program_id(1) * whole + columns
        tl.store(sums, tl.sum(total, 0), mask=inside)
        if GATED:
            tl.store(sums + WIDTH, tl.sum(total_inner, 0), mask=inside)


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


def activate(z: Tensor, activation: Activation) -> Tensor:
    """Apply an activation to the rows of z; if gated, to the gates in the first half, times the second half."""
    (n, whole), gated = z.shape, activation in OF_GATE
    width = whole // 2 if gated else whole
    y = z.new_empty(n, width)
    forward_tile[(triton.cdiv(n, ROWS), triton.cdiv(width, COLUMNS))](
        z, y, n, WIDTH=width, GATED=gated, KIND=OF_GATE.get(activation, activation), ROWS=ROWS, COLUMNS=COLUMNS,
        num_warps=4,
    )  # fmt: skip
    return y


def activation_backward(
    dy: Tensor, z: Tensor | None, activation: Activation | None, with_sums: bool
) -> tuple[Tensor, Tensor | None]:
    """Return the gradient before an activation (dy itself if there is none) and, if asked for, its sum over all rows
    in float32. z is the activation's input; for ReLU, its output."""
    n, width = dy.shape
    if activation is None and not with_sums:
        return dy, None
    dz = dy if z is None else torch.empty_like(z)
    parts = dy.new_empty(PARTS, dz.shape[1], dtype=torch.float32) if with_sums else None
    backward_part[(triton.cdiv(width, COLUMNS), PARTS)](
        dy, dy if z is None else z, dz, parts, n, WIDTH=width, GATED=activation in OF_GATE,
        KIND="none" if activation is None else OF_GATE.get(activation, activation), SUM=with_sums,
        ROWS=ROWS, COLUMNS=COLUMNS, num_warps=4,
    )  # fmt: skip
    return dz, None if parts is None else add_parts(parts)
