"""Attention for packed sentences. Forward and backward passes use no atomics, so they are deterministic.

PyTorch's flash kernel pads every sentence to tiles of 64 by 128, which are mostly empty for sentences of about 27
tokens. Here a tile is a block of consecutive rows, whatever sentences they belong to. Each query sees one range of keys
(those of its sentence; up to itself if attention is causal), and the keys of a block of queries form one range too. It
is processed block by block with the online softmax of Dao et al. (2022). Any mix of lengths works, without sorting or
counting on the host.

Long sequences take larger tiles, and no masks where all rows of a block see all columns: between the last of their
first keys and the first of their ends.

Queries, keys and values stay adjacent in memory, as one projection writes them, and so do their gradients: nothing is
copied. Several heads of queries may share one of keys and values. A bias may be added to the scores, by head and by the
step that a distance falls into (`positions.DistanceBias`).
"""

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from hark.model.kernels.dropout import draw_seed, hash_bits, pair_mask
from hark.model.kernels.linear import are_adjacent

LOG2_E = tl.constexpr(1.4426950408889634)
FAR = tl.constexpr(2**30)


class Tiles(NamedTuple):
    """Rows of a program, columns of an iteration, and how the GPU runs them."""

    rows: int
    columns: int
    warps: int
    stages: int

    def options(self) -> dict[str, int]:
        return {"ROWS": self.rows, "COLUMNS": self.columns, "num_warps": self.warps, "num_stages": self.stages}


class Sizes(NamedTuple):
    """The tiles of the three kernels."""

    forward: Tiles
    queries: Tiles
    keys: Tiles


SENTENCES = Sizes(Tiles(64, 32, 4, 3), Tiles(64, 32, 4, 3), Tiles(64, 32, 4, 3))
WINDOWS = Sizes(Tiles(128, 64, 8, 3), Tiles(64, 32, 4, 3), Tiles(64, 32, 4, 3))
"""For sequences longer than `LONG`."""
LONG = 256


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
def load_rows(base, stride, rows, end, head, K: tl.constexpr, MASKED: tl.constexpr):
    """Load rows of one head; if masked, with zeros beyond `end`."""
    at = base + rows[:, None] * stride + head * K + tl.arange(0, K)[None, :]
    if MASKED:
        return tl.load(at, mask=(rows < end)[:, None], other=0.0)
    return tl.load(at)


@triton.jit
def store_rows(base, stride, values, rows, end, head, K: tl.constexpr):
    at = base + rows[:, None] * stride + head * K + tl.arange(0, K)[None, :]
    tl.store(at, values.to(base.dtype.element_ty), mask=(rows < end)[:, None])


@triton.jit
def load_range(first_at, end_at, rows, n, COLUMNS: tl.constexpr, SPLIT: tl.constexpr):
    """Load the ranges of a block of rows, their union, and the part of it, in whole tiles, that needs no mask. Rows
    beyond `n` have an empty range."""
    first = tl.load(first_at + rows, mask=rows < n, other=FAR)
    end = tl.load(end_at + rows, mask=rows < n, other=0)
    lowest, highest = tl.min(first, 0), tl.max(end, 0)
    full, full_end = highest, highest
    if SPLIT:
        full = lowest + tl.cdiv(tl.max(tl.where(rows < n, first, 0), 0) - lowest, COLUMNS) * COLUMNS
        full = tl.minimum(full, highest)
        full_end = full + tl.maximum(tl.min(tl.where(rows < n, end, FAR), 0) - full, 0) // COLUMNS * COLUMNS
    return first, end, lowest, full, full_end, highest


@triton.jit
def add_bias(scores, bias_at, ahead, head, reach):
    """Add a bias, in units of log2, by head and by how far the key is ahead of the query."""
    near = tl.minimum(tl.maximum(ahead, -reach), reach) + reach
    return scores + tl.load(bias_at + head * (2 * reach + 1) + near)


@triton.jit
def load_seed(seed_at, head, DROP: tl.constexpr):
    """Each head drops other pairs."""
    if DROP:
        return hash_bits((tl.load(seed_at) + head * 40_503).to(tl.uint32))
    else:  # noqa: RET505  # Triton compiles both returns otherwise
        return 0


@triton.jit
def forward_span(
    begin_at, stop, out, total, top, q, k_at, v_at, bias_at, i, first, end, k_stride, v_stride, scale, reach, drop,
    seed, head, k_head, K: tl.constexpr, COLUMNS: tl.constexpr, BIAS: tl.constexpr, DROP: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    """Update output, sum and maximum with the keys of a span."""
    for begin in range(begin_at, stop, COLUMNS):
        j = begin + tl.arange(0, COLUMNS)
        k = load_rows(k_at, k_stride, j, stop, k_head, K, MASKED)
        v = load_rows(v_at, v_stride, j, stop, k_head, K, MASKED)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * LOG2_E)
        if BIAS:
            scores = add_bias(scores, bias_at, j[None, :] - i[:, None], head, reach)
        if MASKED:
            seen = (j[None, :] >= first[:, None]) & (j[None, :] < end[:, None])
            scores = tl.where(seen, scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        safe = new_top
        if MASKED:
            safe = tl.where(new_top == float("-inf"), 0.0, new_top)
        p = tl.exp2(scores - safe[:, None])
        rescale = tl.exp2(top - safe)
        total = total * rescale + tl.sum(p, 1)
        if DROP:
            p *= pair_mask(seed, i[:, None], j[None, :], drop)
        out = out * rescale[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new_top
    return out, total, top


@triton.jit
def forward_block(
    q_at, k_at, v_at, bias_at, seed_at, out_at, log_sum_at, first_at, end_at, n_q, q_stride, k_stride, v_stride, scale,
    reach, drop, H: tl.constexpr, SHARE: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    BIAS: tl.constexpr, DROP: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(0)
    k_head = head // SHARE
    seed = load_seed(seed_at, head, DROP)
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    first, end, lowest, full, full_end, highest = load_range(first_at, end_at, i, n_q, COLUMNS, SPLIT)
    q = load_rows(q_at, q_stride, i, n_q, head, K, True)
    top = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    out = tl.zeros([ROWS, K], tl.float32)
    out, total, top = forward_span(
        lowest, full, out, total, top, q, k_at, v_at, bias_at, i, first, end, k_stride, v_stride, scale, reach, drop,
        seed, head, k_head, K, COLUMNS, BIAS, DROP, True,
    )  # fmt: skip
    if SPLIT:
        out, total, top = forward_span(
            full, full_end, out, total, top, q, k_at, v_at, bias_at, i, first, end, k_stride, v_stride, scale, reach,
            drop, seed, head, k_head, K, COLUMNS, BIAS, DROP, False,
        )  # fmt: skip
        out, total, top = forward_span(
            full_end, highest, out, total, top, q, k_at, v_at, bias_at, i, first, end, k_stride, v_stride, scale,
            reach, drop, seed, head, k_head, K, COLUMNS, BIAS, DROP, True,
        )  # fmt: skip
    sees_any = total > 0.0
    out = out * (1.0 / tl.where(sees_any, total, 1.0))[:, None]
    store_rows(out_at, H * K, out, i, n_q, head, K)
    # +inf for a row that sees no key, so that exp2(score - log_sum) is zero.
    log_sum = tl.where(sees_any, top + tl.log2(tl.where(sees_any, total, 1.0)), float("inf"))
    tl.store(log_sum_at + i * H + head, log_sum, mask=i < n_q)


@triton.jit
def sum_by_step(sums, slopes, ahead, seen, nearest, farthest, step_at, reach, STEPS: tl.constexpr):
    """Add the slopes of a tile to the sums of their steps. `nearest` and `farthest`: the least and the most that a key
    of the tile is ahead. Steps do not decrease with distance, so a tile far from the diagonal has one of them."""
    steps = tl.arange(0, STEPS)
    own = tl.load(step_at + tl.minimum(tl.maximum(ahead, -reach), reach) + reach)
    lowest = tl.load(step_at + tl.minimum(tl.maximum(nearest, -reach), reach) + reach)
    highest = tl.load(step_at + tl.minimum(tl.maximum(farthest, -reach), reach) + reach)
    for step in range(lowest, highest + 1):
        sums += tl.where(steps == step, tl.sum(tl.where(seen & (own == step), slopes, 0.0)), 0.0)
    return sums


@triton.jit
def queries_span(
    begin_at, stop, dq, sums, q, dout, log_sum, along, k_at, v_at, bias_at, step_at, i, first, end, k_stride, v_stride,
    scale, reach, drop, seed, head, k_head, K: tl.constexpr, COLUMNS: tl.constexpr, BIAS: tl.constexpr,
    STEPS: tl.constexpr, DROP: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    for begin in range(begin_at, stop, COLUMNS):
        j = begin + tl.arange(0, COLUMNS)
        k = load_rows(k_at, k_stride, j, stop, k_head, K, MASKED)
        v = load_rows(v_at, v_stride, j, stop, k_head, K, MASKED)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * (scale * LOG2_E)
        if BIAS:
            scores = add_bias(scores, bias_at, j[None, :] - i[:, None], head, reach)
        p = tl.exp2(scores - log_sum[:, None])
        seen = (j[None, :] >= first[:, None]) & (j[None, :] < end[:, None])
        if MASKED:
            p = tl.where(seen, p, 0.0)
        dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
        if DROP:
            dp *= pair_mask(seed, i[:, None], j[None, :], drop)
        slopes = p * (dp - along[:, None])
        if STEPS:
            # Among real rows: the last row of the block and the first, with the first column and the last.
            nearest, farthest = begin - tl.max(i, 0), begin + COLUMNS - 1 - tl.min(i, 0)
            sums = sum_by_step(
                sums, slopes, j[None, :] - i[:, None], seen, nearest, farthest, step_at, reach, STEPS
            )  # fmt: skip
        dq += tl.dot(slopes.to(k.dtype), k, input_precision="ieee")
    return dq, sums


@triton.jit
def backward_queries(
    q_at, k_at, v_at, dout_at, out_at, log_sum_at, dq_at, along_at, first_at, end_at, bias_at, step_at, sums_at, n_q,
    seed_at, q_stride, k_stride, v_stride, scale, reach, drop,
    H: tl.constexpr, SHARE: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    BIAS: tl.constexpr, DROP: tl.constexpr, STEPS: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """The gradient of a block of queries; `along`, a term of the softmax gradient, for `backward_keys`; and, with
    STEPS, this block's part of the gradient of the bias."""
    head = tl.program_id(0)
    k_head = head // SHARE
    seed = load_seed(seed_at, head, DROP)
    i = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    first, end, lowest, full, full_end, highest = load_range(first_at, end_at, i, n_q, COLUMNS, SPLIT)
    q = load_rows(q_at, q_stride, i, n_q, head, K, True)
    dout = load_rows(dout_at, H * K, i, n_q, head, K, True)
    out = load_rows(out_at, H * K, i, n_q, head, K, True)
    along = tl.sum(dout.to(tl.float32) * out.to(tl.float32), 1)
    tl.store(along_at + i * H + head, along, mask=i < n_q)
    log_sum = tl.load(log_sum_at + i * H + head, mask=i < n_q, other=float("inf"))
    dq = tl.zeros([ROWS, K], tl.float32)
    sums = tl.zeros([STEPS if STEPS else 1], tl.float32)
    dq, sums = queries_span(
        lowest, full, dq, sums, q, dout, log_sum, along, k_at, v_at, bias_at, step_at, i, first, end, k_stride,
        v_stride, scale, reach, drop, seed, head, k_head, K, COLUMNS, BIAS, STEPS, DROP, True,
    )  # fmt: skip
    if SPLIT:
        dq, sums = queries_span(
            full, full_end, dq, sums, q, dout, log_sum, along, k_at, v_at, bias_at, step_at, i, first, end, k_stride,
            v_stride, scale, reach, drop, seed, head, k_head, K, COLUMNS, BIAS, STEPS, DROP, False,
        )  # fmt: skip
        dq, sums = queries_span(
            full_end, highest, dq, sums, q, dout, log_sum, along, k_at, v_at, bias_at, step_at, i, first, end,
            k_stride, v_stride, scale, reach, drop, seed, head, k_head, K, COLUMNS, BIAS, STEPS, DROP, True,
        )  # fmt: skip
    store_rows(dq_at, q_stride, dq * scale, i, n_q, head, K)
    if STEPS:
        tl.store(sums_at + (tl.program_id(1) * H + head) * STEPS + tl.arange(0, STEPS), sums)


@triton.jit
def keys_span(
    begin_at, stop, dk, dv, k, v, q_at, dout_at, log_sum_at, along_at, bias_at, j, first, end, q_stride, scale, reach,
    drop, seed, head, H: tl.constexpr, K: tl.constexpr, COLUMNS: tl.constexpr, BIAS: tl.constexpr, DROP: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    for begin in range(begin_at, stop, COLUMNS):
        i = begin + tl.arange(0, COLUMNS)
        q = load_rows(q_at, q_stride, i, stop, head, K, MASKED)
        dout = load_rows(dout_at, H * K, i, stop, head, K, MASKED)
        if MASKED:
            log_sum = tl.load(log_sum_at + i * H + head, mask=i < stop, other=float("inf"))
            along = tl.load(along_at + i * H + head, mask=i < stop, other=0.0)
        else:
            log_sum, along = tl.load(log_sum_at + i * H + head), tl.load(along_at + i * H + head)
        scores = tl.dot(k, tl.trans(q), input_precision="ieee") * (scale * LOG2_E)
        if BIAS:
            scores = add_bias(scores, bias_at, j[:, None] - i[None, :], head, reach)
        p = tl.exp2(scores - log_sum[None, :])
        if MASKED:
            p = tl.where((i[None, :] >= first[:, None]) & (i[None, :] < end[:, None]), p, 0.0)
        dp = tl.dot(v, tl.trans(dout), input_precision="ieee")
        if DROP:
            keep = pair_mask(seed, i[None, :], j[:, None], drop)
            dp *= keep
            dv += tl.dot((p * keep).to(dout.dtype), dout, input_precision="ieee")
        else:
            dv += tl.dot(p.to(dout.dtype), dout, input_precision="ieee")
        dk += tl.dot((p * (dp - along[None, :])).to(q.dtype), q, input_precision="ieee")
    return dk, dv


@triton.jit
def backward_keys(
    q_at, k_at, v_at, dout_at, log_sum_at, along_at, dk_at, dv_at, first_at, end_at, bias_at, n_k,
    seed_at, q_stride, k_stride, v_stride, scale, reach, drop,
    H: tl.constexpr, SHARE: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    BIAS: tl.constexpr, DROP: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """The gradients of a block of keys and values, from the queries that see them, in all heads that share them."""
    k_head = tl.program_id(0)
    j = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    first, end, lowest, full, full_end, highest = load_range(first_at, end_at, j, n_k, COLUMNS, SPLIT)
    k = load_rows(k_at, k_stride, j, n_k, k_head, K, True)
    v = load_rows(v_at, v_stride, j, n_k, k_head, K, True)
    dk = tl.zeros([ROWS, K], tl.float32)
    dv = tl.zeros([ROWS, K], tl.float32)
    for head in range(k_head * SHARE, k_head * SHARE + SHARE):
        seed = load_seed(seed_at, head, DROP)
        dk, dv = keys_span(
            lowest, full, dk, dv, k, v, q_at, dout_at, log_sum_at, along_at, bias_at, j, first, end, q_stride, scale,
            reach, drop, seed, head, H, K, COLUMNS, BIAS, DROP, True,
        )  # fmt: skip
        if SPLIT:
            dk, dv = keys_span(
                full, full_end, dk, dv, k, v, q_at, dout_at, log_sum_at, along_at, bias_at, j, first, end, q_stride,
                scale, reach, drop, seed, head, H, K, COLUMNS, BIAS, DROP, False,
            )  # fmt: skip
            dk, dv = keys_span(
                full_end, highest, dk, dv, k, v, q_at, dout_at, log_sum_at, along_at, bias_at, j, first, end, q_stride,
                scale, reach, drop, seed, head, H, K, COLUMNS, BIAS, DROP, True,
            )  # fmt: skip
    store_rows(dk_at, k_stride, dk * scale, j, n_k, k_head, K)
    store_rows(dv_at, v_stride, dv, j, n_k, k_head, K)


class AttentionCall(NamedTuple):
    """What the three kernels share: the bias by head and distance, in units of log2; the seed and rate of dropout; and
    the sizes."""

    sizes: Sizes
    bias_HD: Tensor | None = None
    seed: Tensor | None = None
    drop: float = 0.0

    @property
    def reach(self) -> int:
        return 0 if self.bias_HD is None else self.bias_HD.shape[1] // 2

    def options(self, tiles: Tiles, q: Tensor, k: Tensor) -> dict[str, Any]:
        shape = {"H": q.shape[1], "SHARE": q.shape[1] // k.shape[1], "K": q.shape[2]}
        uses = {"BIAS": self.bias_HD is not None, "DROP": self.seed is not None, "SPLIT": self.sizes is WINDOWS}
        return {**shape, **uses, **tiles.options()}


def attend(q: Tensor, k: Tensor, v: Tensor, ranges: Ranges, call: AttentionCall) -> tuple[Tensor, Tensor]:
    """Return the heads' outputs and the log-sum-exp of the scores (base 2)."""
    n, h, width = q.shape
    out, log_sum = q.new_empty(n, h, width), q.new_empty(n, h, dtype=torch.float32)
    tiles = call.sizes.forward
    forward_block[(h, triton.cdiv(n, tiles.rows))](
        q, k, v, call.bias_HD, call.seed, out, log_sum, *ranges[:2], n, q.stride(0), k.stride(0), v.stride(0),
        width**-0.5, call.reach, call.drop, **call.options(tiles, q, k),
    )  # fmt: skip
    return out, log_sum


def attend_backward(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, log_sum: Tensor, ranges: Ranges, call: AttentionCall,
    step_D: Tensor | None, steps: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """Return the gradients of q, k and v, in the same memory layout as these; and that of the bias for each of `steps`
    steps, unless there are none."""
    n, h, width = q.shape
    dq, dk, dv = (each for group in group_adjacent(q, k, v) for each in empty_like_group(group))
    along = torch.empty_like(log_sum)
    rest = (call.seed, q.stride(0), k.stride(0), v.stride(0), width**-0.5, call.reach, call.drop)
    tiles = call.sizes.queries
    blocks, power = triton.cdiv(n, tiles.rows), triton.next_power_of_2(steps) if steps else 0
    sums = log_sum.new_empty(blocks, h, power) if steps else None
    backward_queries[(h, blocks)](
        q, k, v, dout, out, log_sum, dq, along, *ranges[:2], call.bias_HD, step_D, sums, n, *rest,
        STEPS=power, **call.options(tiles, q, k),
    )  # fmt: skip
    tiles = call.sizes.keys
    backward_keys[(k.shape[1], triton.cdiv(len(k), tiles.rows))](
        q, k, v, dout, log_sum, along, dk, dv, *ranges[2:], call.bias_HD, len(k), *rest, **call.options(tiles, q, k)
    )
    return dq, dk, dv, None if sums is None else sums.sum(0)[:, :steps]


def group_adjacent(q: Tensor, k: Tensor, v: Tensor) -> tuple[tuple[Tensor, ...], ...]:
    """Group the tensors that are adjacent in memory: all three in self-attention, keys and values in cross-attention,
    none after rotary positions."""
    for groups in (((q, k, v),), ((q,), (k, v))):
        if all(are_adjacent([x.flatten(1) for x in group]) for group in groups):
            return groups
    return (q,), (k,), (v,)


def empty_like_group(group: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    heads = [x.shape[1] for x in group]
    n, _, width = group[0].shape
    return group[0].new_empty(n, sum(heads), width).split(heads, dim=1)


class RangedAttention(torch.autograd.Function):
    """Self- or cross-attention of q_NHK over k_NHK and v_NHK, with a range of keys per query.

    `bias_HB` is added to the scores of each head by the step of the distance, `step_D`: as far as `reach` back, ...,
    as far ahead. Without steps it is by distance itself, and has no gradient. Weights are dropped with probability
    `drop`."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, bias_HB: Tensor | None, step_D: Tensor | None, drop: float,
        longest: int, *ranges: Tensor,
    ) -> Tensor:  # fmt: skip
        groups = group_adjacent(q, k, v)
        q, k, v = (x.contiguous() if len(group) == 1 else x for group in groups for x in group)
        bias_HD = None
        if bias_HB is not None:
            bias_HD = (bias_HB if step_D is None else bias_HB[:, step_D]).float().mul(LOG2_E.value).contiguous()
        call = AttentionCall(WINDOWS if longest > LONG else SENTENCES, bias_HD, draw_seed(q) if drop else None, drop)
        out, log_sum = attend(q, k, v, Ranges(*ranges), call)
        ctx.save_for_backward(q, k, v, out, log_sum, bias_HD, step_D, call.seed, *ranges)
        ctx.sizes, ctx.drop, ctx.steps = call.sizes, drop, 0 if bias_HB is None or step_D is None else bias_HB.shape[1]
        return out

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, log_sum, bias_HD, step_D, seed, *ranges = ctx.saved_tensors
        call, steps = AttentionCall(ctx.sizes, bias_HD, seed, ctx.drop), ctx.steps if ctx.needs_input_grad[3] else 0
        gradients = attend_backward(dout.contiguous(), q, k, v, out, log_sum, Ranges(*ranges), call, step_D, steps)
        return *gradients, None, None, None, *(None for _ in ranges)
