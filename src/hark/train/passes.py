"""Forwards and backwards: a batch's loss, and its gradients added to the weights' own.

Either PyTorch runs the passes one kernel after the other, compiled where that pays; or, on one GPU, they are recorded
once as a CUDA graph and replayed, since a batch always has the same shape: the host then starts one graph instead of
two thousand kernels, and nothing has to be compiled first (docs/speed.md).
"""

from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from hark.config import Config
from hark.model import kernels
from hark.train.loss import Objective, Streams
from hark.train.processes import Processes, Replicas


class Passes(Protocol):
    replicas: Replicas

    def __call__(self, batch: Streams, scale: float, last: bool) -> tuple[Tensor, Tensor]:
        """Sums of loss and nll over a batch. The gradients are those of `scale` times the loss; `last` of a step."""
        ...


class Live:
    """The passes as PyTorch runs them, of any objective, on any device and any number of processes."""

    def __init__(self, objective: nn.Module, processes: Processes, config: Config) -> None:
        self.device, self.config = processes.device, config
        self.replicas = Replicas(objective, processes, config.train.parallel)
        if compiles(config, processes):
            objective.compile()

    def __call__(self, batch: Streams, scale: float, last: bool) -> tuple[Tensor, Tensor]:
        with self.replicas.step(last):
            with autocast(self.config, self.device):
                loss, nll = self.replicas(batch)
            (loss * scale).backward()
        return loss.detach(), nll


class Recorded:
    """The passes as one CUDA graph. What it reads and writes lies where it lay when it was recorded."""

    def __init__(self, objective: nn.Module, processes: Processes, config: Config) -> None:
        self.objective, self.config, self.device = objective, config, processes.device
        self.weights = list(objective.parameters())
        self.replicas = Replicas(objective, processes, config.train.parallel)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.scale = torch.ones((), device=self.device)

    def __call__(self, batch: Streams, scale: float, last: bool) -> tuple[Tensor, Tensor]:
        if self.graph is None:
            self.record(batch)
        for name, stream in self.batch.items():
            for buffer, tensor in zip(stream.arrays().values(), batch[name].arrays().values(), strict=True):
                buffer.copy_(tensor, non_blocking=True)
        self.scale.fill_(scale)
        assert self.graph is not None
        self.graph.replay()
        self.hand_over(copy=not last)
        return self.loss, self.nll

    def hand_over(self, copy: bool) -> None:
        """Give the weights their gradients. The next batch's are written over them: where one comes, copies."""
        for weight, gradient in zip(self.weights, self.gradients, strict=True):
            if weight.grad is not None:
                weight.grad.add_(gradient)
            else:
                weight.grad = gradient.clone() if copy else gradient

    def record(self, batch: Streams) -> None:
        self.batch = {name: stream.map(torch.clone) for name, stream in batch.items()}
        beside = torch.cuda.Stream(self.device)
        beside.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(beside):
            for _ in range(2):  # kernels are built, and libraries make their plans, at the first call
                torch.autograd.grad(self.run()[2], self.weights)
        torch.cuda.current_stream(self.device).wait_stream(beside)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss, self.nll, scaled = self.run()
            self.gradients = torch.autograd.grad(scaled, self.weights)

    def run(self) -> tuple[Tensor, Tensor, Tensor]:
        # Casts of weights may not be kept from one recording to another.
        with autocast(self.config, self.device, cache_enabled=False):
            loss, nll = self.objective(self.batch)
        return loss.detach(), nll, loss * self.scale


def build_passes(objective: Objective, processes: Processes, config: Config) -> Passes:
    return (Recorded if objective.fused else Live)(objective, processes, config)


def autocast(config: Config, device: torch.device, **options: Any) -> AbstractContextManager[Any]:
    """bfloat16 for matrix products where it is wanted; the weights stay in float32."""
    kind = config.train.precision
    wanted = kind == "bfloat16" or (kind == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=wanted, **options)


def compiles(config: Config, processes: Processes) -> bool:
    return config.train.compile == "on" or (config.train.compile == "auto" and processes.device.type == "cuda")


def why_not_recorded(config: Config, processes: Processes) -> str | None:
    """What keeps a run from being recorded as a CUDA graph with our own kernels, in words; nothing: it can be."""
    if processes.device.type != "cuda":
        return "no GPU"
    if not kernels.available():
        return "no Triton, or a GPU that does not know bfloat16"
    reasons = {
        "train.compile is not auto": config.train.compile != "auto",
        "several processes": processes.world > 1,
        "padded batches": config.batches.kind != "packed",
        "float32": config.train.precision == "float32",
        "an output bias, which our loss kernel does not know": config.model.output_bias,
        "heads or sentences of a size that our kernels are not tested with": not kernels.cover(
            config.model, config.batches.max_length
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
