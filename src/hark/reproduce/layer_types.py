"""The four types of layers of Table 1, each mapping n vectors of width d to others, (n, d), and what they cost."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

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


def time_pass(layer: nn.Module, x: Tensor, repeats: int) -> float:
    """Seconds of a forward and backward pass: the fastest of several, after a warm-up."""

    def run() -> None:
        layer(x).sum().backward()
        if x.is_cuda:
            torch.cuda.synchronize()

    run()
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def saved_bytes(layer: nn.Module, x: Tensor) -> int:
    """Bytes that the forward pass keeps for the backward pass, besides the weights and the input."""
    sizes: dict[int, int] = {}
    known = {each.untyped_storage().data_ptr() for each in (x, *layer.parameters())}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = layer(x)  # held, so that no storage is freed and its address used again
    total = sum(sizes.values())
    del out
    return total


def count_flops(layer: nn.Module, x: Tensor) -> int:
    """Operations of a forward pass, by torch's counter."""
    with FlopCounterMode(display=False) as counter:
        layer(x)
    return int(counter.get_total_flops())


def graph_depth(layer: nn.Module, x: Tensor) -> int:
    """The longest chain of operations that must run one after the other, from the graph of the forward pass."""
    start = layer(x).grad_fn
    depths: dict[Any, int] = {}
    stack = [start]
    while stack:
        node = stack[-1]
        waiting = [each for each in inputs_of(node) if each not in depths]
        if waiting:
            stack.extend(waiting)
        else:
            depths[node] = 1 + max((depths[each] for each in inputs_of(node)), default=0)
            stack.pop()
    return depths[start]


def inputs_of(node: Any) -> Iterator[Any]:
    return (each for each, _ in node.next_functions if each is not None)


def path_length(kind: LayerType, n: int, d: int, neighbours: int) -> int:
    """The number of steps that information needs from the first position to the last.

    In a stack: the layers until the last output has a gradient with respect to the first input. In an unrolled layer:
    the states on the shortest path through its graph.
    """
    first = kind.stacked(d, neighbours, 0)
    if isinstance(first, UnrolledRecurrent):
        return count_states(first, n, d)
    layers: list[nn.Module] = []
    while len(layers) < n:
        layers.append(kind.stacked(d, neighbours, len(layers)).double())
        if reaches(nn.Sequential(*layers), n, d):
            return len(layers)
    raise AssertionError(f"{kind.name}: no path after {n} layers")


def reaches(layer: Callable[[Tensor], Tensor], n: int, d: int) -> bool:
    """Whether the last output depends on the first input."""
    x = torch.randn(n, d, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(layer(x)[-1].sum(), x)
    return bool(gradient[0].abs().max() > 0)


def count_states(layer: UnrolledRecurrent, n: int, d: int) -> int:
    """The fewest states on a path from the last state back to the first input."""
    inputs = [torch.randn(1, d, requires_grad=True) for _ in range(n)]
    last = layer.states(inputs)[-1].grad_fn
    fewest = {last: 1}
    queue = deque([last])
    while queue:
        node = queue.popleft()
        for each in inputs_of(node):
            states = fewest[node] + (each.name() == MARK)
            if states < fewest.get(each, n + 1):
                fewest[each] = states
                queue.append(each)
    return next(states for node, states in fewest.items() if getattr(node, "variable", None) is inputs[0])


Points = Sequence[tuple[float, float]]

LAWS: dict[str, Callable[[float], float]] = {"O(log n)": math.log, "O(n)": float, "O(n²)": lambda n: n * n}


def fit_exponent(points: Points) -> float:
    """The exponent p of `value = c size^p`, by least squares on the larger half of the sizes, at least two: small ones
    are dominated by constant costs."""
    kept = sorted(points)[-max(2, math.ceil(len(points) / 2)) :]
    logs = np.log([size for size, _ in kept]), np.log([value for _, value in kept])
    return float(np.polyfit(*logs, 1)[0])


def name_law(points: Points) -> str:
    """The law `a + b f(n)` that fits a count best; O(1) if it never changes."""
    sizes, values = zip(*points, strict=True)
    if len(set(values)) == 1:
        return "O(1)"
    errors = {}
    for name, law in LAWS.items():
        features = np.array([[1.0, law(size)] for size in sizes])
        solution, *_ = np.linalg.lstsq(features, np.array(values, float), rcond=None)
        errors[name] = float(np.square(features @ solution - values).sum())
    return min(errors, key=errors.__getitem__)
