"""Triton kernels for a decoding step: attention over the paged cache, add-and-norm, and top-k over the vocabulary.

Each kernel has a plain PyTorch counterpart (in `model.cache.Operations`, and `search.candidates`), which is its oracle
in the tests. No program reads another sentence's data, and nothing synchronises with the host.

The shape letters are those of the package; `_BLOCK` is a size rounded up to what a program processes at a time.
"""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor, nn

from hark.engine.search import Candidates, candidates
from hark.errors import HarkError
from hark.model.backends import Norm
from hark.model.cache import LayerCache, Operations, Rows

POSITIONS = 16
"""Positions of a hypothesis per iteration: most hypotheses are short."""
KEYS = 32
"""Keys of the memory per iteration."""
BLOCK = 128
"""Tokens of the vocabulary per block; the first pass finds the best logit of each block."""
BLOCKS = 32
"""Blocks per program."""
WIDEST = 16
"""The maximum beam width for which a kernel finds the candidates."""


@triton.jit
def history_kernel(
    q_at, new_k_at, new_v_at, k_at, v_at, places_at, positions_at, out_at, q_stride, k_stride, v_stride, T, scale,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr, SHARED: tl.constexpr,
    K_BLOCK: tl.constexpr, V_BLOCK: tl.constexpr, POSITIONS: tl.constexpr,
):  # fmt: skip
    """Self-attention of one head of one row, by one warp: store the new key and value, and attend to all positions so
    far with an online softmax (Dao et al., 2022). No other row reads this row's new place before the next step.

    SHARED successive heads of queries share a head of keys and values, of which there are H. Each of them stores the
    same new key."""
    row, query_head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    head = query_head // SHARED
    k_columns, v_columns = tl.arange(0, K_BLOCK), tl.arange(0, V_BLOCK)
    k_real, v_real = k_columns < K, v_columns < V
    k_offsets, v_offsets = head * K + k_columns, head * V + v_columns
    q = tl.load(q_at + row * q_stride + query_head * K + k_columns, mask=k_real, other=0.0).to(tl.float32) * scale
    length = tl.load(positions_at + row)
    here = tl.load(places_at + row * T + length).to(tl.int64)
    new_k = tl.load(new_k_at + row * k_stride + k_offsets, mask=k_real, other=0.0)
    new_v = tl.load(new_v_at + row * v_stride + v_offsets, mask=v_real, other=0.0)
    tl.store(k_at + here * (H * K) + k_offsets, new_k, mask=k_real)
    tl.store(v_at + here * (H * V) + v_offsets, new_v, mask=v_real)
    # Start with the newest key, so that the softmax is never empty.
    top = tl.sum(q * new_k.to(tl.float32), 0)
    total = top * 0.0 + 1.0
    out = new_v.to(tl.float32)
    for first in range(0, length, POSITIONS):
        t = first + tl.arange(0, POSITIONS)
        seen = t < length
        place = tl.load(places_at + row * T + t, mask=seen, other=0).to(tl.int64)[:, None]
        there = seen[:, None]
        k = tl.load(k_at + place * (H * K) + k_offsets[None, :], mask=there & k_real[None, :], other=0.0)
        v = tl.load(v_at + place * (H * V) + v_offsets[None, :], mask=there & v_real[None, :], other=0.0)
        scores = tl.where(seen, tl.sum(q[None, :] * k.to(tl.float32), 1), float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 0))
        p = tl.exp(scores - new_top)
        shrink = tl.exp(top - new_top)
        total = total * shrink + tl.sum(p, 0)
        out = out * shrink + tl.sum(p[:, None] * v.to(tl.float32), 0)
        top = new_top
    out_offsets = (row * H * SHARED + query_head) * V + v_columns
    tl.store(out_at + out_offsets, (out / total).to(out_at.dtype.element_ty), mask=v_real)


def in_rows(x_RHK: Tensor) -> Tensor:
    """Make the heads of each row contiguous; rows may be strided, as slices of a wider product are."""
    return x_RHK if x_RHK.stride()[1:] == (x_RHK.shape[2], 1) else x_RHK.contiguous()


def attend_history(q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor, kept: LayerCache, rows: Rows) -> Tensor:
    if rows.bias_HTS is not None:
        raise HarkError("the decoding kernels do not support attention biases; use kernels=False")
    (n, heads, k_width), v_width = q_RHK.shape, v_RHK.shape[-1]
    q_RHK, k_RHK, v_RHK = in_rows(q_RHK), in_rows(k_RHK), in_rows(v_RHK)
    places_RT = rows.places_RT.contiguous()
    out_RHK = q_RHK.new_empty(n, heads, v_width)
    history_kernel[(n, heads)](
        q_RHK, k_RHK, v_RHK, kept.keys_PHK, kept.values_PHK, places_RT, rows.positions_R, out_RHK,
        q_RHK.stride(0), k_RHK.stride(0), v_RHK.stride(0), places_RT.shape[1], k_width**-0.5,
        H=k_RHK.shape[1], K=k_width, V=v_width, SHARED=heads // k_RHK.shape[1], K_BLOCK=triton.next_power_of_2(k_width),
        V_BLOCK=triton.next_power_of_2(v_width), POSITIONS=POSITIONS, num_warps=1,
    )  # fmt: skip
    return out_RHK


@triton.jit
def memory_kernel(
    q_at, k_at, v_at, memory_at, lengths_at, out_at, q_stride, scale, W,
    H: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    W_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr, V_BLOCK: tl.constexpr, KEYS: tl.constexpr,
):  # fmt: skip
    """Cross-attention of all hypotheses of a sentence, for one head: the memory is read once."""
    sentence, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    w = tl.arange(0, W_BLOCK)
    k_columns, v_columns = tl.arange(0, K_BLOCK), tl.arange(0, V_BLOCK)
    k_real, v_real = (k_columns < K)[None, :], (v_columns < V)[None, :]
    rows = sentence * W + w
    real = (w < W)[:, None]
    q = tl.load(q_at + rows[:, None] * q_stride + head * K + k_columns[None, :], mask=real & k_real, other=0.0)
    start, length = tl.load(memory_at + sentence).to(tl.int64), tl.load(lengths_at + sentence)
    top = tl.full([W_BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([W_BLOCK], tl.float32)
    out = tl.zeros([W_BLOCK, V_BLOCK], tl.float32)
    for first in range(0, length, KEYS):
        j = first + tl.arange(0, KEYS)
        seen = (j < length)[:, None]
        places = (start + j)[:, None]
        k = tl.load(k_at + places * (H * K) + head * K + k_columns[None, :], mask=seen & k_real, other=0.0)
        v = tl.load(v_at + places * (H * V) + head * V + v_columns[None, :], mask=seen & v_real, other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        scores = tl.where((j < length)[None, :], scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - new_top[:, None])
        shrink = tl.exp(top - new_top)
        total = total * shrink + tl.sum(p, 1)
        out = out * shrink[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new_top
    # The padding slot has no memory: avoid dividing by zero.
    out = out / tl.where(total == 0.0, 1.0, total)[:, None]
    at = out_at + rows[:, None] * (H * V) + head * V + v_columns[None, :]
    tl.store(at, out.to(out_at.dtype.element_ty), mask=real & v_real)


def attend_memory(q_BWHK: Tensor, kept: LayerCache, rows: Rows) -> Tensor:
    """Cross-attention. Does not use `longest_memory`: each program reads its sentence's length."""
    (sentences, width, heads, k_width), v_width = q_BWHK.shape, kept.values_PHK.shape[-1]
    q_RHK = in_rows(q_BWHK.flatten(0, 1))
    out_BWHK = q_BWHK.new_empty(sentences, width, heads, v_width)
    memory_kernel[(sentences, heads)](
        q_RHK, kept.keys_PHK, kept.values_PHK, rows.memory_B, rows.memory_lengths_B, out_BWHK,
        q_RHK.stride(0), k_width**-0.5, width,
        H=heads, K=k_width, V=v_width, W_BLOCK=max(16, triton.next_power_of_2(width)),
        K_BLOCK=max(16, triton.next_power_of_2(k_width)), V_BLOCK=max(16, triton.next_power_of_2(v_width)), KEYS=KEYS,
        num_warps=2,
    )  # fmt: skip
    return out_BWHK


@triton.jit
def add_norm_kernel(
    x_at, s_at, weight_at, bias_at, sum_at, out_at, eps,
    D: tl.constexpr, D_BLOCK: tl.constexpr, KEEP_SUM: tl.constexpr, RMS: tl.constexpr,
):  # fmt: skip
    """RMSNorm subtracts no mean and adds no bias."""
    row = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, D_BLOCK)
    real = d < D
    x = tl.load(x_at + row * D + d, mask=real, other=0.0).to(tl.float32)
    x += tl.load(s_at + row * D + d, mask=real, other=0.0).to(tl.float32)
    if KEEP_SUM:
        tl.store(sum_at + row * D + d, x.to(sum_at.dtype.element_ty), mask=real)
    if not RMS:
        x = tl.where(real, x - tl.sum(x, 0) / D, 0.0)
    x = x / tl.sqrt(tl.sum(x * x, 0) / D + eps)
    x = x * tl.load(weight_at + d, mask=real, other=0.0).to(tl.float32)
    if not RMS:
        x += tl.load(bias_at + d, mask=real, other=0.0).to(tl.float32)
    tl.store(out_at + row * D + d, x.to(out_at.dtype.element_ty), mask=real)


def add_norm(x_RD: Tensor, s_RD: Tensor, norm: Norm, pre_norm: bool) -> tuple[Tensor, Tensor]:
    rms, bias = isinstance(norm, nn.RMSNorm), norm.weight if isinstance(norm, nn.RMSNorm) else norm.bias
    out_RD, (rows, width) = torch.empty_like(x_RD), x_RD.shape
    sum_RD = torch.empty_like(x_RD) if pre_norm else out_RD
    add_norm_kernel[(rows,)](
        x_RD, s_RD, norm.weight, bias, sum_RD, out_RD, norm.eps,
        D=width, D_BLOCK=triton.next_power_of_2(width), KEEP_SUM=pre_norm, RMS=rms, num_warps=2,
    )  # fmt: skip
    return sum_RD, out_RD


@triton.jit
def block_best_kernel(
    logits_at, best_at, top_at, total_at, vocabulary, n_blocks, n_chunks,
    BLOCK: tl.constexpr, BLOCKS: tl.constexpr, ROUND: tl.constexpr,
):  # fmt: skip
    """Find the best logit of each block of tokens, and partial sums of the softmax; the only pass over all logits.
    Rows start and end at multiples of `ROUND`, so that loads are vectorised."""
    row, chunk = tl.program_id(0).to(tl.int64), tl.program_id(1)
    vocabulary = tl.multiple_of(vocabulary, ROUND)
    blocks = chunk * BLOCKS + tl.arange(0, BLOCKS)
    tokens = blocks[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    start = tl.multiple_of(row * vocabulary, ROUND)
    x = tl.load(logits_at + start + tokens, mask=tokens < vocabulary, other=float("-inf")).to(tl.float32)
    best = tl.max(x, 1)
    top = tl.max(best, 0)
    safe = tl.where(top == float("-inf"), 0.0, top)
    total = tl.sum(tl.sum(tl.exp(x - safe), 1), 0)
    tl.store(best_at + row * n_blocks + blocks, best, mask=blocks < n_blocks)
    tl.store(top_at + row * n_chunks + chunk, safe)
    tl.store(total_at + row * n_chunks + chunk, total)


@triton.jit
def choose_kernel(
    logits_at, best_at, top_at, total_at, log_prob_at, out_log_prob, out_rows, out_tokens,
    vocabulary, n_blocks, n_chunks,
    W: tl.constexpr, W_BLOCK: tl.constexpr, N_BLOCKS: tl.constexpr, N_CHUNKS: tl.constexpr, C: tl.constexpr,
    C_BLOCK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Find the best C continuations of one sentence. They are in the C blocks with the highest maxima: for any other
    block, there are C continuations at least as good."""
    sentence = tl.program_id(0).to(tl.int64)
    w = tl.arange(0, W_BLOCK)
    rows = sentence * W + w
    real = w < W
    chunks = tl.arange(0, N_CHUNKS)
    known = real[:, None] & (chunks < n_chunks)[None, :]
    top = tl.load(top_at + rows[:, None] * n_chunks + chunks[None, :], mask=known, other=float("-inf"))
    total = tl.load(total_at + rows[:, None] * n_chunks + chunks[None, :], mask=known, other=0.0)
    highest = tl.max(top, 1)
    highest = tl.where(highest == float("-inf"), 0.0, highest)
    total = tl.sum(total * tl.exp(top - highest[:, None]), 1)
    log_sum = highest + tl.log(tl.where(total > 0, total, 1.0))
    shift = tl.where(real, tl.load(log_prob_at + rows, mask=real, other=float("-inf")) - log_sum, float("-inf"))

    blocks = tl.arange(0, N_BLOCKS)
    there = real[:, None] & (blocks < n_blocks)[None, :]
    best = tl.load(best_at + rows[:, None] * n_blocks + blocks[None, :], mask=there, other=float("-inf"))
    best = tl.reshape(tl.where(there, best + shift[:, None], float("-inf")), [W_BLOCK * N_BLOCKS])
    every = tl.arange(0, W_BLOCK * N_BLOCKS)
    c = tl.arange(0, C_BLOCK)
    chosen_row = tl.zeros([C_BLOCK], tl.int32)
    chosen_block = tl.full([C_BLOCK], N_BLOCKS, tl.int32)  # beyond the vocabulary: none chosen
    chosen_shift = tl.full([C_BLOCK], float("-inf"), tl.float32)
    used = tl.zeros([W_BLOCK * N_BLOCKS], tl.int32)
    for i in range(C):
        at = tl.argmax(tl.where(used == 1, float("-inf"), best), 0)
        # When only -inf is left, argmax may return a block that was already chosen; skip it.
        fresh = tl.max(tl.where((every == at) & (used == 0), 1, 0), 0) == 1
        row, block = at // N_BLOCKS, at % N_BLOCKS
        mine = (c == i) & fresh
        chosen_row = tl.where(mine, row, chosen_row)
        chosen_block = tl.where(mine, block, chosen_block)
        chosen_shift = tl.where(mine, tl.max(tl.where(w == row, shift, float("-inf")), 0), chosen_shift)
        used = tl.where(every == at, 1, used)

    tokens = chosen_block[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    chosen_logits = logits_at + (sentence * W + chosen_row)[:, None] * vocabulary + tokens
    x = tl.load(chosen_logits, mask=tokens < vocabulary, other=float("-inf")).to(tl.float32) + chosen_shift[:, None]
    x = tl.reshape(x, [C_BLOCK * BLOCK])
    all_tokens = tl.reshape(tokens, [C_BLOCK * BLOCK])
    all_rows = tl.reshape(chosen_row[:, None] + tl.zeros([C_BLOCK, BLOCK], tl.int32), [C_BLOCK * BLOCK])
    each = tl.arange(0, C_BLOCK * BLOCK)
    for i in range(C):
        here = each == tl.argmax(x, 0)
        tl.store(out_log_prob + sentence * C + i, tl.max(x, 0))
        # If there is no candidate left, store a valid token id.
        token = tl.minimum(tl.sum(tl.where(here, all_tokens, 0), 0), vocabulary - 1)
        tl.store(out_tokens + sentence * C + i, token.to(tl.int64))
        tl.store(out_rows + sentence * C + i, tl.sum(tl.where(here, all_rows, 0), 0).to(tl.int64))
        x = tl.where(here, float("-inf"), x)


def choose(logits_BWV: Tensor, log_prob_BW: Tensor) -> Candidates:
    """`search.candidates` in one pass over the logits."""
    sentences, width, vocabulary = logits_BWV.shape
    if width > WIDEST:
        return candidates(logits_BWV, log_prob_BW)
    count = 2 * width
    n_blocks, n_chunks = triton.cdiv(vocabulary, BLOCK), triton.cdiv(vocabulary, BLOCK * BLOCKS)
    new = log_prob_BW.new_empty
    best, top, total = new(sentences, width, n_blocks), new(sentences, width, n_chunks), new(sentences, width, n_chunks)
    block_best_kernel[(sentences * width, n_chunks)](
        logits_BWV, best, top, total, vocabulary, n_blocks, n_chunks,
        BLOCK=BLOCK, BLOCKS=BLOCKS, ROUND=math.gcd(vocabulary, 16), num_warps=4,
    )  # fmt: skip
    found = Candidates(new(sentences, count), *(new(sentences, count, dtype=torch.long) for _ in range(2)))
    choose_kernel[(sentences,)](
        logits_BWV, best, top, total, log_prob_BW.contiguous(), found.log_prob_BC, found.rows_BC, found.tokens_BC,
        vocabulary, n_blocks, n_chunks,
        W=width, W_BLOCK=triton.next_power_of_2(width), N_BLOCKS=triton.next_power_of_2(n_blocks),
        N_CHUNKS=triton.next_power_of_2(n_chunks), C=count, C_BLOCK=triton.next_power_of_2(count), BLOCK=BLOCK,
        num_warps=4,
    )  # fmt: skip
    return found


OPERATIONS = Operations(attend_history, attend_memory, add_norm)
