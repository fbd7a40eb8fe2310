"""Estimates of how long an experiment takes, before it starts."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from hark.config import Config
from hark.model import kernels
from hark.reproduce.flops import Lengths, run_flops
from hark.reproduce.scales import ScaleName

LENGTH = 27
"""Tokens of a typical sentence."""


@dataclass(frozen=True)
class Cost:
    """The work of an experiment: operations of training on our kernels and without them, and the number of runs."""

    fast_flops: float = 0.0
    slow_flops: float = 0.0
    runs: int = 0
    seconds: float = 0.0
    """Of work that is not training."""

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.fast_flops + other.fast_flops,
            self.slow_flops + other.slow_flops,
            self.runs + other.runs,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True)
class MachineSpeed:
    """The speed of a machine: operations per second in training on either path, and seconds around each run (start,
    checkpoints, translating the dev set)."""

    fast: float
    slow: float
    around: float

    def seconds(self, cost: Cost) -> float:
        return cost.fast_flops / self.fast + cost.slow_flops / self.slow + cost.runs * self.around + cost.seconds


TWO_CORES = MachineSpeed(fast=2e10, slow=2e10, around=4)
H200 = MachineSpeed(fast=3.1e14, slow=0.9e14, around=20)
"""Measured: base in `table2`, 37 steps of 25,000 tokens per second. The slow path is an estimate."""
NOMINAL: Mapping[ScaleName, MachineSpeed] = {"small": TWO_CORES, "medium": H200, "full": H200, "tiny": TWO_CORES}
"""The machine that each scale is meant for."""
SHARE_FAST, SHARE_SLOW = 0.35, 0.11
"""Shares of the speed of large matrix products that training reaches on a GPU."""
SHARE_CPU = 0.25


def training_cost(config: Config) -> Cost:
    """The cost of a run with typical sentences."""
    tokens = config.train.steps * config.train.batches_per_step * config.batches.batch_tokens
    flops = run_flops(config.model, Lengths.equal(1, LENGTH, LENGTH), tokens)
    covered = kernels.cover(config.model, config.batches.max_length)
    return Cost(fast_flops=flops if covered else 0.0, slow_flops=0.0 if covered else flops, runs=1)


def measure_speed(device: torch.device) -> MachineSpeed:
    """Time matrix products on this machine."""
    on_gpu = device.type == "cuda"
    size, kind = (8192, torch.bfloat16) if on_gpu else (768, torch.float32)
    a = torch.randn(size, size, device=device, dtype=kind)
    best = min(time_product(a) for _ in range(4))
    flops = 2 * size**3 / best
    if not on_gpu:
        return MachineSpeed(SHARE_CPU * flops, SHARE_CPU * flops, TWO_CORES.around)
    return MachineSpeed(SHARE_FAST * flops, SHARE_SLOW * flops, H200.around)


def time_product(a: torch.Tensor) -> float:
    if a.is_cuda:
        torch.cuda.synchronize()
    began = time.perf_counter()
    a @ a
    if a.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - began
