"""Attention for packed short sentences, in Triton: forward and backward without atomics, so that it is deterministic.

PyTorch's flash kernel pads every sentence to tiles of 64 by 128, most of which sentences of some 27 tokens leave empty.
Here a program takes one sentence and head, in a tile of the smallest power of two that holds both sides, and a kernel
is started for each such size; programs whose sentence is of another size end at once. Nobody has to know the lengths
on the host. Sentences beyond the largest tile go in blocks, with the running softmax of Dao et al. (2022).

Tensors: q_NHK, k_NHK, v_NHV, contiguous; cumulative lengths as in `patterns.Packed`.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

TILES = (16, 32, 64, 128)
BLOCK = 64
"""Queries, and keys, at a time in sentences that fit no tile."""
WIDTHS = (16, 32, 64, 128)
"""Head widths that the kernels are tested with; `patterns.tiles_serve` asks for these."""


@triton.jit
def load_rows(base, start, count, head, rows, H: tl.constexpr, WIDTH: tl.constexpr):
    """Rows of one head of a packed tensor, zero beyond `count`."""
    columns = tl.arange(0, WIDTH)
    at = base + (start + rows)[:, None] * (H * WIDTH) + head * WIDTH + columns[None, :]
    return tl.load(at, mask=(rows < count)[:, None], other=0.0)


@triton.jit
def store_rows(base, values, start, count, head, rows, H: tl.constexpr, WIDTH: tl.constexpr):
    columns = tl.arange(0, WIDTH)
    at = base + (start + rows)[:, None] * (H * WIDTH) + head * WIDTH + columns[None, :]
    tl.store(at, values.to(base.dtype.element_ty), mask=(rows < count)[:, None])


@triton.jit
def masked_scores(q, k, i, j, n_k, scale, CAUSAL: tl.constexpr):
    """Q K^T / sqrt(d_k), -inf where query i must not see key j."""
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    visible = (j < n_k)[None, :]
    if CAUSAL:
        visible = visible & (i[:, None] >= j[None, :])
    return tl.where(visible, scores, float("-inf"))


@triton.jit
def softmax_rows(scores):
    """Rows that see nothing become zero, not NaN."""
    top = tl.max(scores, 1)
    top = tl.where(top == float("-inf"), 0.0, top)
    p = tl.exp(scores - top[:, None])
    total = tl.sum(p, 1)
    return p / tl.where(total == 0.0, 1.0, total)[:, None]


@triton.jit
def forward_tile(
    q_at, k_at, v_at, out_at, q_cu, k_cu, scale,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, TILE: tl.constexpr, BELOW: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    sentence, head = tl.program_id(0), tl.program_id(1)
    q_start, k_start = tl.load(q_cu + sentence), tl.load(k_cu + sentence)
    n_q, n_k = tl.load(q_cu + sentence + 1) - q_start, tl.load(k_cu + sentence + 1) - k_start
    n = tl.maximum(n_q, n_k)
    if (n <= BELOW) | (n > TILE):
        return
    rows = tl.arange(0, TILE)
    q = load_rows(q_at, q_start, n_q, head, rows, H, K)
    k = load_rows(k_at, k_start, n_k, head, rows, H, K)
    v = load_rows(v_at, k_start, n_k, head, rows, H, V)
    p = softmax_rows(masked_scores(q, k, rows, rows, n_k, scale, CAUSAL))
    out = tl.dot(p.to(v.dtype), v, input_precision="ieee")
    store_rows(out_at, out, q_start, n_q, head, rows, H, V)


@triton.jit
def backward_tile(
    q_at, k_at, v_at, dout_at, dq_at, dk_at, dv_at, q_cu, k_cu, scale,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, TILE: tl.constexpr, BELOW: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """The softmax is computed again from the tile, so that nothing but the inputs is kept for it."""
    sentence, head = tl.program_id(0), tl.program_id(1)
    q_start, k_start = tl.load(q_cu + sentence), tl.load(k_cu + sentence)
    n_q, n_k = tl.load(q_cu + sentence + 1) - q_start, tl.load(k_cu + sentence + 1) - k_start
    n = tl.maximum(n_q, n_k)
    if (n <= BELOW) | (n > TILE):
        return
    rows = tl.arange(0, TILE)
    q = load_rows(q_at, q_start, n_q, head, rows, H, K)
    k = load_rows(k_at, k_start, n_k, head, rows, H, K)
    v = load_rows(v_at, k_start, n_k, head, rows, H, V)
    dout = load_rows(dout_at, q_start, n_q, head, rows, H, V)
    p = softmax_rows(masked_scores(q, k, rows, rows, n_k, scale, CAUSAL))
    dv = tl.dot(tl.trans(p.to(dout.dtype)), dout, input_precision="ieee")
    store_rows(dv_at, dv, k_start, n_k, head, rows, H, V)
    dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
    ds = (p * (dp - tl.sum(p * dp, 1)[:, None]) * scale).to(q.dtype)
    store_rows(dq_at, tl.dot(ds, k, input_precision="ieee"), q_start, n_q, head, rows, H, K)
    store_rows(dk_at, tl.dot(tl.trans(ds), q, input_precision="ieee"), k_start, n_k, head, rows, H, K)


@triton.jit
def forward_blocks(
    q_at, k_at, v_at, out_at, log_sum_at, q_cu, k_cu, scale,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BLOCK: tl.constexpr, BELOW: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """A block of queries of a long sentence over all its keys, a block at a time."""
    sentence, head, block = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    q_start, k_start = tl.load(q_cu + sentence), tl.load(k_cu + sentence)
    n_q, n_k = tl.load(q_cu + sentence + 1) - q_start, tl.load(k_cu + sentence + 1) - k_start
    if (tl.maximum(n_q, n_k) <= BELOW) | (block * BLOCK >= n_q):
        return
    i = block * BLOCK + tl.arange(0, BLOCK)
    q = load_rows(q_at, q_start, n_q, head, i, H, K)
    top = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    out = tl.zeros([BLOCK, V], tl.float32)
    end = tl.minimum(n_k, (block + 1) * BLOCK) if CAUSAL else n_k
    for first in range(0, end, BLOCK):
        j = first + tl.arange(0, BLOCK)
        k = load_rows(k_at, k_start, n_k, head, j, H, K)
        v = load_rows(v_at, k_start, n_k, head, j, H, V)
        scores = masked_scores(q, k, i, j, n_k, scale, CAUSAL)
        new_top = tl.maximum(top, tl.max(scores, 1))
        safe = tl.where(new_top == float("-inf"), 0.0, new_top)
        p = tl.exp(scores - safe[:, None])
        shrink = tl.exp(top - safe)
        total = total * shrink + tl.sum(p, 1)
        out = out * shrink[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new_top
    safe_total = tl.where(total == 0.0, 1.0, total)
    store_rows(out_at, out / safe_total[:, None], q_start, n_q, head, i, H, V)
    # Of a row that saw nothing: +inf, so that exp(score - it) is zero.
    log_sum = tl.where(total == 0.0, float("inf"), top + tl.log(safe_total))
    tl.store(log_sum_at + (q_start + i) * H + head, log_sum, mask=i < n_q)


@triton.jit
def block_gradient(q, k, v, dout, out, log_sum, i, j, n_k, scale, CAUSAL: tl.constexpr):
    """The softmax of one block of queries and keys, and the gradient of its scores."""
    p = tl.exp(masked_scores(q, k, i, j, n_k, scale, CAUSAL) - log_sum[:, None])
    dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
    rest = tl.sum(dout.to(tl.float32) * out.to(tl.float32), 1)
    return p, (p * (dp - rest[:, None]) * scale).to(q.dtype)


@triton.jit
def backward_blocks(
    q_at, k_at, v_at, dout_at, out_at, log_sum_at, dq_at, dk_at, dv_at, q_cu, k_cu, scale,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, BLOCK: tl.constexpr, BELOW: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """For a block of a long sentence: the gradient of its keys and values over all queries, and of its queries over all
    keys. Every number is written by one program, once."""
    sentence, head, block = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    q_start, k_start = tl.load(q_cu + sentence), tl.load(k_cu + sentence)
    n_q, n_k = tl.load(q_cu + sentence + 1) - q_start, tl.load(k_cu + sentence + 1) - k_start
    if tl.maximum(n_q, n_k) <= BELOW:
        return
    mine = block * BLOCK + tl.arange(0, BLOCK)
    if block * BLOCK < n_k:
        k = load_rows(k_at, k_start, n_k, head, mine, H, K)
        v = load_rows(v_at, k_start, n_k, head, mine, H, V)
        dk = tl.zeros([BLOCK, K], tl.float32)
        dv = tl.zeros([BLOCK, V], tl.float32)
        for first in range(block * BLOCK if CAUSAL else 0, n_q, BLOCK):
            i = first + tl.arange(0, BLOCK)
            q = load_rows(q_at, q_start, n_q, head, i, H, K)
            dout = load_rows(dout_at, q_start, n_q, head, i, H, V)
            out = load_rows(out_at, q_start, n_q, head, i, H, V)
            log_sum = tl.load(log_sum_at + (q_start + i) * H + head, mask=i < n_q, other=float("inf"))
            p, ds = block_gradient(q, k, v, dout, out, log_sum, i, mine, n_k, scale, CAUSAL)
            dv += tl.dot(tl.trans(p.to(dout.dtype)), dout, input_precision="ieee")
            dk += tl.dot(tl.trans(ds), q, input_precision="ieee")
        store_rows(dk_at, dk, k_start, n_k, head, mine, H, K)
        store_rows(dv_at, dv, k_start, n_k, head, mine, H, V)
    if block * BLOCK < n_q:
        q = load_rows(q_at, q_start, n_q, head, mine, H, K)
        dout = load_rows(dout_at, q_start, n_q, head, mine, H, V)
        out = load_rows(out_at, q_start, n_q, head, mine, H, V)
        log_sum = tl.load(log_sum_at + (q_start + mine) * H + head, mask=mine < n_q, other=float("inf"))
        dq = tl.zeros([BLOCK, K], tl.float32)
        end = tl.minimum(n_k, (block + 1) * BLOCK) if CAUSAL else n_k
        for first in range(0, end, BLOCK):
            j = first + tl.arange(0, BLOCK)
            k = load_rows(k_at, k_start, n_k, head, j, H, K)
            v = load_rows(v_at, k_start, n_k, head, j, H, V)
            _, ds = block_gradient(q, k, v, dout, out, log_sum, mine, j, n_k, scale, CAUSAL)
            dq += tl.dot(ds, k, input_precision="ieee")
        store_rows(dq_at, dq, q_start, n_q, head, mine, H, K)


def launches(longest: int) -> list[tuple[int, int, int]]:
    """Tiles that may be needed: the size, the size below, and the warps that work on one."""
    sizes = [tile for tile, below in zip(TILES, (0, *TILES), strict=False) if below < longest]
    return [(tile, below, max(1, tile // 16)) for tile, below in zip(sizes, (0, *sizes), strict=False)]


@torch.library.custom_op("hark::packed_attention", mutates_args=())
def packed_attention(
    q: Tensor, k: Tensor, v: Tensor, q_cu: Tensor, k_cu: Tensor, longest: int, causal: bool
) -> tuple[Tensor, Tensor]:
    """The heads' outputs, and the logarithms of the softmax's sums for long sentences."""
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    (n, h, width), value_width, sentences = q.shape, v.shape[-1], len(q_cu) - 1
    out, log_sum = q.new_empty(n, h, value_width), q.new_empty(n, h, dtype=torch.float32)
    shape = {"H": h, "K": width, "V": value_width, "CAUSAL": causal}
    scale = width**-0.5
    for tile, below, warps in launches(longest):
        forward_tile[(sentences, h)](q, k, v, out, q_cu, k_cu, scale, **shape, TILE=tile, BELOW=below, num_warps=warps)
    if longest > TILES[-1]:
        forward_blocks[(sentences, h, triton.cdiv(longest, BLOCK))](
            q, k, v, out, log_sum, q_cu, k_cu, scale, **shape, BLOCK=BLOCK, BELOW=TILES[-1], num_warps=4
        )
    return out, log_sum


@torch.library.custom_op("hark::packed_attention_backward", mutates_args=())
def packed_attention_backward(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, log_sum: Tensor, q_cu: Tensor, k_cu: Tensor,
    longest: int, causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    dout, q, k, v = dout.contiguous(), q.contiguous(), k.contiguous(), v.contiguous()
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    h, width, sentences = q.shape[1], q.shape[2], len(q_cu) - 1
    shape = {"H": h, "K": width, "V": v.shape[-1], "CAUSAL": causal}
    scale = width**-0.5
    for tile, below, warps in launches(longest):
        backward_tile[(sentences, h)](
            q, k, v, dout, dq, dk, dv, q_cu, k_cu, scale, **shape, TILE=tile, BELOW=below, num_warps=warps
        )
    if longest > TILES[-1]:
        backward_blocks[(sentences, h, triton.cdiv(longest, BLOCK))](
            q, k, v, dout, out, log_sum, dq, dk, dv, q_cu, k_cu, scale,
            **shape, BLOCK=BLOCK, BELOW=TILES[-1], num_warps=4,
        )  # fmt: skip
    return dq, dk, dv


@packed_attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, q_cu: Tensor, k_cu: Tensor, longest: int, causal: bool):  # noqa: ARG001
    return q.new_empty(q.shape[0], q.shape[1], v.shape[-1]), q.new_empty(q.shape[:2], dtype=torch.float32)


@packed_attention_backward.register_fake
def _(dout, q, k, v, out, log_sum, q_cu, k_cu, longest, causal):  # noqa: ARG001
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def keep(ctx, inputs, output) -> None:
    q, k, v, q_cu, k_cu, ctx.longest, ctx.causal = inputs
    ctx.save_for_backward(q, k, v, *output, q_cu, k_cu)


def differentiate(ctx, dout: Tensor, _: Tensor):
    gradients = packed_attention_backward(dout, *ctx.saved_tensors, ctx.longest, ctx.causal)
    return *gradients, None, None, None, None


packed_attention.register_autograd(differentiate, setup_context=keep)
