"""Measurements of a layer (time, memory, operations, depth, path lengths), and how they grow with a size."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from hark.reproduce.layer_types import MARK, LayerType, UnrolledRecurrent


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
