"""Forward and backward passes: the loss of a batch, with its gradients accumulated in the weights.

Either PyTorch launches each kernel, compiled where that pays off; or, on one GPU, the passes are captured once as a
CUDA graph and replayed, which works because packed batches always have the same shape. The host then launches one graph
instead of two thousand kernels, and nothing has to be compiled first (docs/speed.md).
"""

import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from hark.config import Config
from hark.data.batches import Batch
from hark.model import kernels
from hark.train.loss import Objective, Streams
from hark.train.processes import Processes, Replicas


class Meter:
    """Sums since the last record. Losses and their token counts stay on the device, so that nothing waits for it."""

    def __init__(self, device: torch.device, reads: Iterable[str], predicts: str) -> None:
        """`reads`: the streams that the model reads; `predicts`: the one that it predicts."""
        # Loss, NLL, and the number of predicted tokens that these two cover.
        self.sums = torch.zeros(3, dtype=torch.float64, device=device)
        self.streams, self.predicts = tuple(reads), predicts
        self.counts = [0] * (len(self.streams) + 1)  # tokens of each stream; slots of the predicted one
        self.started, self.tokens_before = time.monotonic(), 0

    def add(self, loss: Tensor, nll: Tensor, batch: Batch[Any]) -> None:
        """Add a batch. A non-finite loss and its tokens are left out, since such a step is skipped."""
        tokens = torch.full_like(loss, batch.n_predicted, dtype=torch.float64)
        values = torch.stack([loss.detach().double(), nll.double(), tokens])
        self.sums += values.where(loss.detach().isfinite(), 0.0)
        here = (*(batch.n_tokens[name] for name in self.streams), batch.n_target_slots)
        self.counts = [count + more for count, more in zip(self.counts, here, strict=True)]

    def read(self, processes: Processes) -> tuple[float, float, float, Mapping[str, float]]:
        """Over all processes: mean loss and NLL per token, fill of the batches, and the tokens of each stream per
        predicted token."""
        loss, nll, tokens, *counts, slots = processes.total(*self.sums.tolist(), *self.counts)
        tokens = tokens or float("nan")
        read = dict(zip(self.streams, counts, strict=True))
        predicted = read[self.predicts]
        return loss / tokens, nll / tokens, predicted / slots, {name: count / predicted for name, count in read.items()}

    def throughput(self, target_tokens: int) -> float:
        """Target tokens per second since the last record."""
        return (target_tokens - self.tokens_before) / max(time.monotonic() - self.started, 1e-9)

    def clear(self, target_tokens: int) -> None:
        self.sums.zero_()
        self.counts = [0] * len(self.counts)
        self.started, self.tokens_before = time.monotonic(), target_tokens

    def state_dict(self, processes: Processes) -> dict[str, Any]:
        totals = processes.total(*self.sums.tolist(), *self.counts)
        return {"sums": totals[:3], "counts": [int(count) for count in totals[3:]]}

    def load_state_dict(self, state: dict[str, Any], processes: Processes, target_tokens: int) -> None:
        """Restore the sums. The leading process takes the totals of all processes, whatever their number was."""
        self.clear(target_tokens)
        if processes.leads:
            self.sums.copy_(torch.tensor(state["sums"], dtype=torch.float64))
            self.counts = list(state["counts"])


class Passes(Protocol):
    """Runs the forward and backward pass of a batch."""

    replicas: Replicas

    def __call__(self, batch: Streams, scale: float, last: bool) -> tuple[Tensor, Tensor]:
        """Return the sums of loss and NLL over a batch. The gradients are those of `scale` times the loss. `last`: this
        is the last batch of the step."""
        ...


class EagerPasses:
    """Runs the passes with PyTorch: any objective, any device, any number of processes."""

    def __init__(self, objective: nn.Module, processes: Processes, config: Config) -> None:
        self.device, self.config = processes.device, config
        self.replicas = Replicas(objective, processes, config.train.parallel)
        if compiles(config, processes):
            objective.compile()

    def __call__(self, batch: Streams, scale: float, last: bool) -> tuple[Tensor, Tensor]:
        with self.replicas.step(last):
            with autocast(self.config, self.device):
                loss, nll = self.replicas.module(batch)
            (loss * scale).backward()
        return loss.detach(), nll


class GraphPasses:
    """Replays the passes as one CUDA graph. Its inputs and outputs stay at the addresses used in the capture."""

    def __init__(self, objective: nn.Module, processes: Processes, config: Config) -> None:
        self.objective, self.config, self.device = objective, config, processes.device
        self.weights = list(objective.parameters())
        self.replicas = Replicas(objective, processes, config.train.parallel)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.scale = torch.ones((), device=self.device)

    def __call__(self, batch: Streams, scale: float, last: bool) -> tuple[Tensor, Tensor]:
        if self.graph is None:
            self.capture(batch)
        for name, stream in self.batch.items():
            for buffer, tensor in zip(stream.arrays().values(), batch[name].arrays().values(), strict=True):
                buffer.copy_(tensor, non_blocking=True)
        self.scale.fill_(scale)
        assert self.graph is not None
        self.graph.replay()
        self.accumulate(copy=not last)
        return self.loss, self.nll

    def accumulate(self, copy: bool) -> None:
        """Accumulate the gradients in the weights. The next replay overwrites them, so `copy` unless it is the last."""
        for weight, gradient in zip(self.weights, self.gradients, strict=True):
            if weight.grad is not None:
                weight.grad.add_(gradient)
            else:
                weight.grad = gradient.clone() if copy else gradient

    def capture(self, batch: Streams) -> None:
        self.batch = {name: stream.map(torch.clone) for name, stream in batch.items()}
        side = torch.cuda.Stream(self.device)
        side.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(side):
            for _ in range(2):  # warm up: the first call compiles kernels and lets libraries choose algorithms
                torch.autograd.grad(self.run()[2], self.weights)
        torch.cuda.current_stream(self.device).wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss, self.nll, scaled = self.run()
            self.gradients = torch.autograd.grad(scaled, self.weights)

    def run(self) -> tuple[Tensor, Tensor, Tensor]:
        # The autocast cache must not carry weight casts from one capture to the next.
        with autocast(self.config, self.device, cache_enabled=False):
            loss, nll = self.objective(self.batch)
        return loss.detach(), nll, loss * self.scale


def build_passes(objective: Objective, processes: Processes, config: Config) -> Passes:
    return (GraphPasses if objective.fused else EagerPasses)(objective, processes, config)


def autocast(config: Config, device: torch.device, **options: Any) -> AbstractContextManager[Any]:
    """Autocast to bfloat16 if the precision setting asks for it; the weights stay in float32."""
    kind = config.train.precision
    enabled = kind == "bfloat16" or (kind == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=enabled, **options)


def compiles(config: Config, processes: Processes) -> bool:
    """Whether to compile. With an order of prediction, attention has rectangles of other shapes in each batch, and most
    of the time would go into compiling again: only if told to."""
    if config.train.compile == "auto":
        return processes.device.type == "cuda" and not config.batches.any_order
    return config.train.compile == "on"


def fallback_reason(config: Config, processes: Processes) -> str | None:
    """Return why a run cannot use a CUDA graph with our kernels, or None if it can."""
    if processes.device.type != "cuda":
        return "no GPU"
    if not kernels.available():
        return "no Triton, or a GPU without bfloat16"
    reasons = {
        "train.compile is not auto": config.train.compile != "auto",
        "several processes": processes.world > 1,
        "padded batches": config.batches.kind != "packed",
        "float32": config.train.precision == "float32",
        "an order of prediction, which our kernels do not have": config.batches.any_order > 0,
        "an output bias, which our loss kernel does not support": config.model.output_bias,
        "labels, which our loss kernel does not support": config.model.labels is not None,
        "a head width or sentence length that our kernels are not tested with": not kernels.cover(
            config.model, config.batches.max_length
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
