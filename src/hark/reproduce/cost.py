"""Estimates how long an experiment takes, from the operations of its model and the speed of the machine.

Only matrix products count, a multiplication and an addition each: 2 m n k for a product of m x k and k x n. Attention
counts every query with every key, masked or not. Torch's own counter follows the same rules, and a test compares them.
"""

import time
from collections.abc import Mapping
from dataclasses import astuple, dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from hark.config import Config, ModelConfig
from hark.data.dataset import Dataset
from hark.model import kernels
from hark.reproduce.scales import ScaleName

TRAINING = 3
"""Operations of a training step per operation of its forward pass: the backward pass has two products for each."""


@dataclass(frozen=True)
class Lengths:
    """What the operations for a set of sentence pairs depend on: sums over the pairs of lengths and of their products.
    A source includes EOS; a target is as long as the decoder's input."""

    source: float
    target: float
    source_source: float
    target_target: float
    target_source: float

    @classmethod
    def of(cls, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> "Lengths":
        s, t = sources.astype(np.float64), targets.astype(np.float64)
        return cls(*(float(each.sum()) for each in (s, t, s * s, t * t, t * s)))

    @classmethod
    def equal(cls, pairs: int, source: int, target: int) -> "Lengths":
        """Pairs of the same lengths."""
        return cls.of(np.full(pairs, source), np.full(pairs, target))

    def times(self, factor: float) -> "Lengths":
        return Lengths(*(factor * value for value in astuple(self)))


def forward_flops(config: ModelConfig, lengths: Lengths) -> float:
    """Operations of a forward pass, from embeddings to logits."""
    c, n = config, lengths
    keys, values = 2 * c.d_model * c.n_heads * c.k_width, 2 * c.d_model * c.n_heads * c.v_width
    """One projection of a token to queries or keys; to values, or from them to the output (paper, 3.2.2)."""
    pair = 2 * c.n_heads * (c.k_width + c.v_width)
    """A query with a key: their product, and the weighted value (paper, equation 1)."""
    inner = 2 * c.d_model * c.d_ff * (3 if c.activation == "swiglu" else 2)
    encoder = n.source * (2 * keys + 2 * values + inner) + n.source_source * pair
    self_attention = n.target * (2 * keys + 2 * values) + n.target_target * pair
    cross_attention = n.target * (keys + values) + n.source * (keys + values) + n.target_source * pair
    decoder = self_attention + cross_attention + n.target * inner
    logits = 2 * n.target * c.d_model * c.vocab_size
    return c.n_encoder_layers * encoder + c.n_decoder_layers * decoder + logits


def training_flops(config: ModelConfig, lengths: Lengths) -> float:
    """Operations of forward and backward passes. Updates of weights, a few operations per weight, do not count."""
    return TRAINING * forward_flops(config, lengths)


def text_lengths(dataset: Dataset, max_length: int) -> Lengths:
    """The lengths of the training text, as the model reads it."""
    texts = [corpus.variants[0] for corpus in dataset.train]
    s = np.concatenate([text.source_lengths for text in texts]) + 1
    t = np.concatenate([text.target_lengths for text in texts]) + 1
    fits = np.maximum(s, t) <= max_length
    return Lengths.of(s[fits], t[fits])


def run_flops(config: ModelConfig, text: Lengths, target_tokens: float) -> float:
    """Operations of a run over `target_tokens` of a text with these lengths."""
    return training_flops(config, text.times(target_tokens / text.target))


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
        return Cost(*(mine + its for mine, its in zip(astuple(self), astuple(other), strict=True)))


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
