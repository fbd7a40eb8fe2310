"""The four types of layers of Table 1, each mapping a sequence of n vectors of width d to another one, (n, d)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hark.model.patterns import Padded, scaled_dot_product_attention

KERNEL = 3
"""Kernel width k of convolutions."""


class StepByStepAttention(nn.Module):
    """Self-attention by equation 1, one head, without projections, as Table 1 counts it. Keeps all n² weights."""

    def forward(self, x_ND: Tensor) -> Tensor:
        x_NHK = x_ND[:, None]
        everything = torch.ones(1, 1, dtype=torch.bool, device=x_ND.device)
        return scaled_dot_product_attention(x_NHK, x_NHK, x_NHK, everything)[0].squeeze(1)


class FusedAttention(nn.Module):
    """The same by the kernel that hark trains with: it never stores the n² weights."""

    def forward(self, x_ND: Tensor) -> Tensor:
        x_BTHK = x_ND[None, :, None]
        return Padded()(x_BTHK, x_BTHK, x_BTHK).squeeze(2).squeeze(0)


class RestrictedAttention(nn.Module):
    """Self-attention to a neighbourhood of r positions around each one. Computed in blocks of r queries, each with the
    2r keys that any of them may see."""

    def __init__(self, neighbours: int) -> None:
        super().__init__()
        self.r = neighbours

    def forward(self, x_ND: Tensor) -> Tensor:
        n, r = len(x_ND), self.r
        half, blocks = r // 2, math.ceil(n / r)
        queries = F.pad(x_ND, (0, 0, 0, blocks * r - n)).view(blocks, r, -1)
        padded = F.pad(x_ND, (0, 0, half, blocks * r - n + half))
        keys = padded.unfold(0, 2 * r, r).transpose(1, 2)
        query_at = torch.arange(blocks * r, device=x_ND.device).view(blocks, r, 1)
        key_at = (torch.arange(2 * r, device=x_ND.device) - half) + r * torch.arange(blocks, device=x_ND.device)[
            :, None
        ]
        visible = ((query_at - key_at[:, None]).abs() <= half) & ((key_at >= 0) & (key_at < n))[:, None]
        q, k = queries.unsqueeze(2), keys.unsqueeze(2)
        out, _ = scaled_dot_product_attention(q, k, k, visible[:, None])
        return out.squeeze(2).flatten(0, 1)[:n]


class Convolution(nn.Module):
    """A causal convolution of width k, over a position and those before it. `dilation` spreads it, as in a stack whose
    reach grows with a power of k."""

    def __init__(self, d: int, dilation: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv1d(d, d, KERNEL, dilation=dilation)
        self.before = (KERNEL - 1) * dilation

    def forward(self, x_ND: Tensor) -> Tensor:
        out: Tensor = self.conv(F.pad(x_ND.T[None], (self.before, 0)))
        return out[0].T


class Recurrent(nn.Module):
    """An LSTM, by PyTorch's own kernel."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(d, d)

    def forward(self, x_ND: Tensor) -> Tensor:
        out: Tensor = self.lstm(x_ND)[0]
        return out


MARK = "AliasBackward0"
"""The node of `mark_state` in the graph. Nothing else in a recurrent cell makes one."""


def mark_state(x: Tensor) -> Tensor:
    """The identity. Marks a state of a recurrent layer in the graph, so that the steps on a path can be counted.

    Not a Python autograd function: PyTorch 2.11 loses the inputs of such nodes when the graph is walked.
    """
    marked: Tensor = torch.ops.aten.alias(x)
    return marked


class UnrolledRecurrent(nn.Module):
    """A recurrent layer as its graph of single operations, for counting: a GRU cell, which has one state."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.cell = nn.GRUCell(d, d)

    def forward(self, x_ND: Tensor) -> Tensor:
        return torch.cat(self.states([x_D[None] for x_D in x_ND]))

    def states(self, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The state after each input, (1, d)."""
        states = [torch.zeros_like(inputs[0])]
        for x_1D in inputs:
            states.append(mark_state(self.cell(x_1D, states[-1])))
        return states[1:]


@dataclass(frozen=True)
class LayerType:
    """A type of layer: how to build the one that is timed, and the layers of a stack for counting."""

    name: str
    published: str
    """Its row in the paper's Table 1."""
    timed: Callable[[int, int], nn.Module]
    """For a width d and a neighbourhood r."""
    stacked: Callable[[int, int, int], nn.Module]
    """For d, r and the number of the layer in its stack, from 0."""


LAYER_TYPES = (
    LayerType(
        "self-attention",
        "self-attention",
        lambda _d, _r: StepByStepAttention(),
        lambda _d, _r, _i: StepByStepAttention(),
    ),
    LayerType(
        "self-attention, fused kernel",
        "self-attention",
        lambda _d, _r: FusedAttention(),
        lambda _d, _r, _i: StepByStepAttention(),
    ),
    LayerType("recurrent", "recurrent", lambda d, _r: Recurrent(d), lambda d, _r, _i: UnrolledRecurrent(d)),
    LayerType(
        "convolutional", "convolutional", lambda d, _r: Convolution(d), lambda d, _r, i: Convolution(d, KERNEL**i)
    ),
    LayerType(
        "restricted self-attention",
        "restricted self-attention",
        lambda _d, r: RestrictedAttention(r),
        lambda _d, r, _i: RestrictedAttention(r),
    ),
)
