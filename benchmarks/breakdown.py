"""Breakdown of the time of a step by kind of kernel."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch

# The first matching pattern decides. Inductor's kernel names list all fused operations, so the order matters.
KINDS = (
    ("optimiser", r"multi_tensor_apply|adam|foreach|optimi|clip"),
    ("attention", r"flash|fmha|attention|attn|forward_block|backward_queries|backward_keys|sdpa"),
    ("softmax and loss", r"softmax|nll|cross_entropy|loss|scatter|gather"),
    ("embedding", r"embedding|indexing_backward|index_put|index_select|grad_weight"),
    ("matrix products", r"nvjet|gemm|cublas|cutlass|splitk|xmma|_mm|wgrad|linear|matmul|scaled_mm"),
    ("gradients of ReLU and biases", r"sum_part"),
    ("norms, residual, dropout", r"norm|dropout|residual|forward_rows|backward_rows"),
)
REST = "rest: ReLU, casts, copies"


class Kernel(NamedTuple):
    """One launch of a kernel, in microseconds of the device's clock."""

    name: str
    start: float
    end: float


class Breakdown(NamedTuple):
    """Milliseconds per step. Kinds add up to `busy` if no kernels overlap; `idle` is the rest of the step."""

    kinds: dict[str, float]
    kernels: dict[str, float]
    """Each kernel by name, the longest first."""
    busy: float
    idle: float
    step: float


def kind_of(name: str) -> str:
    lower = name.lower()
    return next((kind for kind, pattern in KINDS if re.search(pattern, lower)), REST)


def break_down(kernels: Iterable[Kernel], steps: int, step_ms: float) -> Breakdown:
    """Break down the kernels of some steps. `step_ms` is measured without the profiler, which slows down the host."""
    kernels = sorted(kernels, key=lambda each: each.start)
    kinds: dict[str, float] = dict.fromkeys([kind for kind, _ in KINDS] + [REST], 0.0)
    names: dict[str, float] = defaultdict(float)
    busy, until = 0.0, float("-inf")
    for kernel in kernels:
        milliseconds = (kernel.end - kernel.start) / 1000 / steps
        kinds[kind_of(kernel.name)] += milliseconds
        names[kernel.name] += milliseconds
        busy += max(0.0, kernel.end - max(kernel.start, until)) / 1000 / steps
        until = max(until, kernel.end)
    longest = dict(sorted(names.items(), key=lambda each: -each[1]))
    return Breakdown(kinds, longest, busy, max(0.0, step_ms - busy), step_ms)


def record(step: Callable[[int], int], steps: int) -> list[Kernel]:
    """Profile the kernels of some steps."""
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        for number in range(steps):
            step(number)
        torch.cuda.synchronize()
    return [
        Kernel(event.name, event.time_range.start, event.time_range.end)
        for event in seen.events()
        if event.device_type.name == "CUDA" and not is_label(event)
    ]


def is_label(event: object) -> bool:
    """Whether an event is an annotated time span, not a kernel."""
    name = str(getattr(event, "name", ""))
    return bool(getattr(event, "is_user_annotation", False)) or name.startswith(("ProfilerStep", "Optimizer.", "## "))


def table(title: str, breakdown: Breakdown, kernels: int = 24) -> str:
    """Format the kinds, and then the longest kernels."""

    def line(milliseconds: float, name: str) -> str:
        return f"{milliseconds:>9.2f} ms  {milliseconds / breakdown.step:>6.1%}  {name}"

    longest = list(breakdown.kernels.items())[:kernels]
    return "\n".join(
        [
            f"{title}: one step, {breakdown.step:.2f} ms",
            *(line(milliseconds, kind) for kind, milliseconds in breakdown.kinds.items()),
            line(breakdown.idle, f"idle: the step minus {breakdown.busy:.2f} ms with a kernel running"),
            *(f"{milliseconds:>9.3f} ms  {kind_of(name):<26} {name[:110]}" for name, milliseconds in longest),
        ]
    )
