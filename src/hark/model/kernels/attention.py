"""Attention for packed sentences. Forward and backward passes use no atomics, so they are deterministic.

PyTorch's flash kernel pads every sentence to tiles of 64 by 128, which are mostly empty for sentences of about 27
tokens. Here a tile is a block of consecutive rows, whatever sentences they belong to. Each query sees one range of keys
(those of its sentence; up to itself if attention is causal), and the keys of a block of queries form one range too. It
is processed block by block with the online softmax of Dao et al. (2022). Any mix of lengths works, without sorting or
counting on the host.

Queries, keys and values stay adjacent in memory, as one projection writes them, and so do their gradients: nothing is
copied.
"""

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from hark.model.kernels.linear import are_adjacent

ROWS = 64
"""Queries per program (in the backward pass also: keys)."""
COLUMNS = 32
"""Keys per iteration (in the backward pass also: queries)."""
LOG2_E = tl.constexpr(1.4426950408889634)
FAR = tl.constexpr(2**30)


class Ranges(NamedTuple):
    """The half-open range of keys that each query sees, and of queries that see each key."""

    first_key: Tensor
    end_key: Tensor
    first_query: Tensor
    end_query: Tensor


def make_ranges(q_cu: Tensor, k_cu: Tensor, n_q: int, n_k: int, causal: bool) -> Ranges:
    """Compute the ranges from cumulative lengths, on the device."""
    i, j = (torch.arange(n, device=cu.device, dtype=cu.dtype) for n, cu in ((n_q, q_cu), (n_k, k_cu)))
    # If several sentences begin at a slot, all but the last are empty, and the slot belongs to the last.
    q_of, k_of = (torch.searchsorted(cu, slots, right=True) - 1 for cu, slots in ((q_cu, i), (k_cu, j)))
    if causal:
        return Ranges(k_cu[q_of], i + 1, j, q_cu[k_of + 1])
    return Ranges(k_cu[q_of], k_cu[q_of + 1], q_cu[k_of], q_cu[k_of + 1])


@triton.jit
def load_rows(base, stride, rows, end, head, K: tl.constexpr):
    """Load rows of one head, with zeros beyond `end`."""
    at = base + rows[:, None] * stride + head * K + tl.arange(0, K)[None, :]
    return tl.load(at, mask=(rows < end)[:, None], other=0.0)


@triton.jit
def store_rows(base, stride, values, rows, end, head, K: tl.constexpr):
    at = base + rows[:, None] * stride + head * K + tl.arange(0, K)[None, :]
    tl.store(at, values.to(base.dtype.element_ty), mask=(rows < end)[:, None])


@triton.jit
def load_range(first_at, end_at, rows, n):
    """Load the ranges of a block of rows, and their union. Rows beyond `n` have an empty range."""
    first = tl.load(first_at + rows, mask=rows < n, other=FAR)
    end = tl.load(end_at + rows, mask=rows < n, other=0)
    return first, end, tl.min(first, 0), tl.max(end, 0)


@triton.jit
def forward_block(
    q_at, k_at, v_at, out_at, log_sum_at, first_at, end_at, n_q, q_stride, k_stride, scale,
    H: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0)
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    first, end, lowest, highest = load_range(first_at, end_at, i, n_q)
    q = load_rows(q_at, q_stride, i, n_q, head, K)
    top = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    out = tl.zeros([ROWS, K], tl.float32)
    for begin in range(lowest, highest, COLUMNS):
        j = begin + tl.arange(0, COLUMNS)
        k = load_rows(k_at, k_stride, j, highest, head, K)
        v = load_rows(v_at, k_stride, j, highest, head, K)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * LOG2_E)
        seen = (j[None, :] >= first[:, None]) & (j[None, :] < end[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        safe = tl.where(new_top == float("-inf"), 0.0, new_top)
        p = tl.exp2(scores - safe[:, None])
        rescale = tl.exp2(top - safe)
        total = total * rescale + tl.sum(p, 1)
        out = out * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new_top
    sees_any = total > 0.0
    out = out * (1.0 / tl.where(sees_any, total, 1.0))[:, None]
    store_rows(out_at, H * K, out, i, n_q, head, K)
    # +inf for a row that sees no key, so that exp2(score - log_sum) is zero.
    log_sum = tl.where(sees_any, top + tl.log2(tl.where(sees_any, total, 1.0)), float("inf"))
    tl.store(log_sum_at + i * H + head, log_sum, mask=i < n_q)


@triton.jit
def backward_queries(
    q_at, k_at, v_at, dout_at, out_at, log_sum_at, dq_at, along_at, first_at, end_at, n_q, q_stride, k_stride, scale,
    H: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The gradient of a block of queries; and `along`, a term of the softmax gradient, for `backward_keys`."""
    head = tl.program_id(0)
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    first, end, lowest, highest = load_range(first_at, end_at, i, n_q)
    q = load_rows(q_at, q_stride, i, n_q, head, K)
    dout = load_rows(dout_at, H * K, i, n_q, head, K)
    out = load_rows(out_at, H * K, i, n_q, head, K)
    along = tl.sum(dout.to(tl.float32) * out.to(tl.float32), 1)
    tl.store(along_at + i * H + head, along, mask=i < n_q)
    log_sum = tl.load(log_sum_at + i * H + head, mask=i < n_q, other=float("inf"))
    dq = tl.zeros([ROWS, K], tl.float32)
    for begin in range(lowest, highest, COLUMNS):
        j = begin + tl.arange(0, COLUMNS)
        k = load_rows(k_at, k_stride, j, highest, head, K)
        v = load_rows(v_at, k_stride, j, highest, head, K)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * LOG2_E)
        seen = (j[None, :] >= first[:, None]) & (j[None, :] < end[:, None])
        p = tl.where(seen, tl.exp2(scores - log_sum[:, None]), 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        dq += tl.dot((p * (dp - along[:, None])).to(k.dtype), k, input_precision="ieee")
    store_rows(dq_at, q_stride, dq * scale, i, n_q, head, K)


@triton.jit
def backward_keys(
    q_at, k_at, v_at, dout_at, log_sum_at, along_at, dk_at, dv_at, first_at, end_at, n_k, q_stride, k_stride, scale,
    H: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """The gradients of a block of keys and values, from the queries that see them."""
    head = tl.program_id(0)
    j = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    first, end, lowest, highest = load_range(first_at, end_at, j, n_k)
    k = load_rows(k_at, k_stride, j, n_k, head, K)
    v = load_rows(v_at, k_stride, j, n_k, head, K)
    dk = tl.zeros([ROWS, K], tl.float32)
    dv = tl.zeros([ROWS, K], tl.float32)
    for begin in range(lowest, highest, COLUMNS):
        i = begin + tl.arange(0, COLUMNS)
        q = load_rows(q_at, q_stride, i, highest, head, K)
        dout = load_rows(dout_at, H * K, i, highest, head, K)
        log_sum = tl.load(log_sum_at + i * H + head, mask=i < highest, other=float("inf"))
        along = tl.load(along_at + i * H + head, mask=i < highest, other=0.0)
        scores = tl.dot(k, tl.trans(q), input_precision="ieee") * (scale * LOG2_E)
        seen = (i[None, :] >= first[:, None]) & (i[None, :] < end[:, None])
        p = tl.where(seen, tl.exp2(scores - log_sum[None, :]), 0.0)
        dv += tl.dot(p.to(dout.dtype), dout, input_precision="ieee")
        dp = tl.dot(v, tl.trans(dout), input_precision="ieee")
        dk += tl.dot((p * (dp - along[None, :])).to(q.dtype), q, input_precision="ieee")
    store_rows(dk_at, k_stride, dk * scale, j, n_k, head, K)
    store_rows(dv_at, k_stride, dv, j, n_k, head, K)


def attend(q: Tensor, k: Tensor, v: Tensor, ranges: Ranges) -> tuple[Tensor, Tensor]:
    """Return the heads' outputs and the log-sum-exp of the scores (base 2)."""
    n, h, width = q.shape
    out, log_sum = q.new_empty(n, h, width), q.new_empty(n, h, dtype=torch.float32)
    forward_block[(h, triton.cdiv(n, ROWS))](
        q, k, v, out, log_sum, *ranges[:2], n, q.stride(0), k.stride(0), width**-0.5,
        H=h, K=width, ROWS=ROWS, COLUMNS=COLUMNS, num_warps=4, num_stages=3,
    )  # fmt: skip
    return out, log_sum


def attend_backward(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, log_sum: Tensor, ranges: Ranges
) -> tuple[Tensor, ...]:
    """Return the gradients of q, k and v, in the same memory layout as these."""
    n, h, width = q.shape
    dq, dk, dv = (each for group in group_adjacent(q, k, v) for each in empty_like_group(group))
    along = torch.empty_like(log_sum)
    rest = (q.stride(0), k.stride(0), width**-0.5)
    shape = {"H": h, "K": width, "ROWS": ROWS, "COLUMNS": COLUMNS, "num_warps": 4, "num_stages": 3}
    backward_queries[(h, triton.cdiv(n, ROWS))](q, k, v, dout, out, log_sum, dq, along, *ranges[:2], n, *rest, **shape)
    backward_keys[(h, triton.cdiv(len(k), ROWS))](
        q, k, v, dout, log_sum, along, dk, dv, *ranges[2:], len(k), *rest, **shape
    )
    return dq, dk, dv


def group_adjacent(q: Tensor, k: Tensor, v: Tensor) -> tuple[tuple[Tensor, ...], ...]:
    """Group the tensors that are adjacent in memory: all three in self-attention, keys and values in cross-attention,
    none after rotary positions."""
    for groups in (((q, k, v),), ((q,), (k, v))):
        if all(are_adjacent([x.flatten(1) for x in group]) for group in groups):
            return groups
    return (q,), (k,), (v,)


def empty_like_group(group: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    n, heads, width = group[0].shape
    return group[0].new_empty(n, len(group), heads, width).unbind(1)


class RangedAttention(torch.autograd.Function):
    """Self- or cross-attention of q_NHK over k_NHK and v_NHK, with a range of keys per query."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, *ranges: Tensor) -> Tensor:
        groups = group_adjacent(q, k, v)
        q, k, v = (x.contiguous() if len(group) == 1 else x for group in groups for x in group)
        out, log_sum = attend(q, k, v, Ranges(*ranges))
        ctx.save_for_backward(q, k, v, out, log_sum, *ranges)
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, log_sum, *ranges = ctx.saved_tensors
        gradients = attend_backward(dout.contiguous(), q, k, v, out, log_sum, Ranges(*ranges))
        return *gradients, None, None, None, None
