"""A fused output projection, softmax and label-smoothed loss, computed in chunks of the batch with 16-bit logits.

The logits of 25,000 tokens over 37,000 entries take 3.7 GB in float32, and are read and written several times. Here a
matrix product computes a chunk of them, a kernel replaces each row by the gradient of the loss, and two more products
turn that into the gradients of the inputs. So the forward pass does the work of both passes, and the backward pass only
multiplies by the incoming gradient.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from hark.model.kernels.linear import product

CHUNK = 8192
"""The most tokens in a chunk."""
COLUMNS = 2048
LOWEST = tl.constexpr(-1e30)
"""Finite, because -inf - -inf is NaN."""
LOG2_E = tl.constexpr(1.4426950408889634)


@triton.jit
def loss_of_row(
    logits_at, labels_at, loss_at, nll_at, vocabulary, stride, smoothing,
    PAD: tl.constexpr, COLUMNS: tl.constexpr, ROUND: tl.constexpr, GRADIENT: tl.constexpr,
):  # fmt: skip
    """Compute the loss of one row of logits, and overwrite it with the gradient. GPUs have exp2 natively, not exp."""
    vocabulary = tl.multiple_of(vocabulary, ROUND)  # a hint for vectorised loads
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels_at + row)
    real = tl.where(label != PAD, 1.0, 0.0)
    at = logits_at + row * stride
    columns = tl.arange(0, COLUMNS)
    # Each lane keeps its own maximum and sum, so that lanes are reduced only once, at the end of the row.
    top = tl.full([COLUMNS], LOWEST, tl.float32)
    total = tl.zeros([COLUMNS], tl.float32)
    plain = tl.zeros([COLUMNS], tl.float32)
    for first in range(0, vocabulary, COLUMNS):
        inside = first + columns < vocabulary
        x = tl.load(at + first + columns, mask=inside, other=LOWEST).to(tl.float32)
        plain += tl.where(inside, x, 0.0)
        x *= LOG2_E
        higher = tl.maximum(top, x)
        total = total * tl.exp2(top - higher) + tl.exp2(x - higher)
        top = higher
    highest = tl.max(top, 0)
    log_sum = highest + tl.log2(tl.sum(total * tl.exp2(top - highest), 0))
    chosen = tl.load(at + label).to(tl.float32)
    nll = log_sum / LOG2_E - chosen
    uniform = log_sum / LOG2_E - tl.sum(plain, 0) / vocabulary
    tl.store(nll_at + row, nll * real)
    tl.store(loss_at + row, ((1.0 - smoothing) * nll + smoothing * uniform) * real)
    if GRADIENT:
        share = smoothing / vocabulary
        for first in range(0, stride, COLUMNS):
            column = first + columns
            x = tl.load(at + column, mask=column < vocabulary, other=LOWEST).to(tl.float32)
            slope = (tl.exp2(x * LOG2_E - log_sum) - tl.where(column < vocabulary, share, 0.0)) * real
            tl.store(at + column, slope.to(logits_at.dtype.element_ty), mask=column < stride)
        tl.debug_barrier()  # the label's own gradient is written over what some thread has written just now
        slope = (tl.exp2(chosen * LOG2_E - log_sum) - share - (1.0 - smoothing)) * real
        tl.store(at + label, slope.to(logits_at.dtype.element_ty))


class ProjectedLoss(torch.autograd.Function):
    """Sums of the smoothed loss and of the nll over all tokens."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float, pad: int, gradients: bool
    ) -> tuple[Tensor, Tensor]:
        (n, _), vocabulary = hidden.shape, weight.shape[0]
        # Pad the vocabulary so that rows are aligned for the matrix products; the padding columns are ignored.
        narrow = F.pad(weight.to(hidden.dtype), (0, 0, 0, -vocabulary % 64))
        loss, nll = (torch.empty(n, dtype=torch.float32, device=hidden.device) for _ in range(2))
        dhidden, dweight = torch.empty_like(hidden), None
        chunk = triton.cdiv(n, triton.cdiv(n, CHUNK))
        for begin in range(0, n, chunk):
            rows = slice(begin, min(begin + chunk, n))
            logits = hidden[rows] @ narrow.T
            loss_of_row[(len(logits),)](
                logits, labels[rows], loss[rows], nll[rows], vocabulary, narrow.shape[0], smoothing,
                PAD=pad, COLUMNS=COLUMNS, ROUND=math.gcd(vocabulary, 16), GRADIENT=gradients, num_warps=16,
            )  # fmt: skip
            if gradients:
                torch.mm(logits, narrow, out=dhidden[rows])
                dweight = product(logits.T, hidden[rows], dweight)
        if gradients:
            assert dweight is not None
            ctx.save_for_backward(dhidden, dweight[:vocabulary])
        sums = loss.sum(), nll.sum()
        ctx.mark_non_differentiable(sums[1])
        return sums

    @staticmethod
    def backward(ctx: Any, dloss: Tensor, _nll: Tensor) -> tuple[Tensor | None, ...]:
        dhidden, dweight = ctx.saved_tensors
        return dhidden * dloss, dweight * dloss, None, None, None, None


def projected_loss(hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float, pad: int) -> tuple[Tensor, Tensor]:
    """Fused equivalent of `loss.smoothed_loss` on `hidden weight^T`; tokens with the label `pad` are ignored."""
    hidden, labels = hidden.flatten(0, -2).contiguous(), labels.flatten().contiguous()
    return ProjectedLoss.apply(hidden, weight, labels, smoothing, pad, torch.is_grad_enabled())
