"""What training takes before it begins: memory, time of a step, and what bounds it, from the shape of the model.

A step is the sum of its parts on one GPU with our kernels: matrix products take the longer of computing and moving
their bytes; attention, norms, activations and the loss move their bytes as `model/kernels` does. Rates are those that
fit the runs of `MEASURED` on an H200; other GPUs are scaled from it by their makers' figures. Several GPUs train on the
plain path, whose share of the speed was measured on one, and add up gradients while the backward pass runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from hark.config import Config, ModelConfig
from hark.model.spec import StackSpec, stacks_of
from hark.train.sizing import count_weights

GpuName = Literal["h200", "h100", "a100"]
Part = Literal["products", "attention", "norms", "activations", "loss", "optimiser", "launches"]


class Gpu(NamedTuple):
    products: float
    """Operations per second of matrix products in 16 bits."""
    attention: float
    """Operations per second inside attention."""
    bandwidth: float
    """Bytes per second."""
    memory: float
    """GiB."""
    links: float
    """Bytes per second to another GPU of the machine, in a sum over all."""


H200 = Gpu(690e12, 230e12, 2.9e12, 141 * 1e9 / 2**30, 350e9)
GPUS: dict[GpuName, Gpu] = {
    "h200": H200,
    "h100": H200._replace(bandwidth=2.9e12 * 3.35 / 4.8, memory=80 * 1e9 / 2**30),
    "a100": Gpu(690e12 * 312 / 990, 230e12 * 312 / 990, 2.9e12 * 2.0 / 4.8, 80 * 1e9 / 2**30, 230e9),
}
NETWORK = 40e9
"""Bytes per second between machines, for each GPU: a 400 Gbit/s card for each, as clusters have them."""
LAUNCHES = 80e-6
"""Seconds of gaps between the kernels of a sub-layer."""
PLAIN = {"pairs": 0.55, "text": 0.75}
"""Speed of the plain path, compiled, as a share of that of our kernels (docs/results/logs/training)."""
BACKWARD = 2 / 3
"""The share of a step in which gradients can be summed over the GPUs."""
CHUNK = 8192
"""Tokens whose logits exist at the same time (`train/fused_loss.py`)."""
PERMANENT = 18
"""Bytes per weight: weight, gradient and Adam's moments in float32, and a copy in 16 bits."""
SENTENCE = 27
"""Mean tokens of a sentence in Europarl and newstest."""


class Measured(NamedTuple):
    """A run on one H200 with our kernels."""

    recipe: str
    length: int
    """Mean tokens of a sentence, or those of a window."""
    batch_tokens: int
    milliseconds: float
    gib: float
    changes: tuple[str, ...] = ()


MEASURED = (
    Measured("base", SENTENCE, 25_600, 27.8, 6.0),
    Measured("big", SENTENCE, 25_600, 71.0, 11.4),
    Measured("gpt", 1024, 32_768, 61.2, 11.7),
    Measured("gpt", 1024, 65_536, 120.1, 21.1),
    Measured("gpt", 512, 32_768, 57.6, 11.9, ("model.norm_kind=rms",)),
    Measured("bert", 128, 32_768, 50.6, 11.4, ("batches.masked=0.99",)),
    Measured("bert", 512, 32_768, 55.6, 11.5, ("batches.masked=0.99",)),
)
"""Of BERT with all logits. A test compares them with the plan (docs/results/logs/training: train-speed, shapes)."""


@dataclass(frozen=True)
class Plan:
    """One step of training on some GPUs, and a run of `tokens`."""

    weights: int
    parts: dict[Part, float]
    """Seconds of a batch on one GPU, by what it does."""
    seconds: float
    """Of a step: its batches, one after another on each GPU, and the sum of gradients as far as it is not hidden."""
    exchange: float
    """Seconds of that sum."""
    permanent: float
    batch: float
    """GiB of a GPU: for weights, gradients and Adam; for a batch."""
    step_tokens: int
    tokens: float

    @property
    def gib(self) -> float:
        return self.permanent + self.batch

    @property
    def run_seconds(self) -> float:
        return self.tokens / self.step_tokens * self.seconds


def plan(
    config: Config, gpus: int = 1, machines: int = 1, gpu: Gpu = H200, length: int | None = None,
    tokens: float | None = None,
) -> Plan:  # fmt: skip
    """`gpus`: on each machine; `length`: mean tokens of a sentence, for pairs; `tokens`: of the target, in all."""
    model, batches, train = with_vocabulary(config), config.batches, config.train
    n, world = batches.batch_tokens, gpus * machines
    text = model.shape != "encoder-decoder" or batches.corrupted is not None
    mean = length or (batches.max_length if text else SENTENCE)
    reads = shares(config)
    parts: dict[Part, float] = dict.fromkeys(PARTS, 0.0)
    saved = 0.0
    for name, spec in stacks_of(model).items():
        read = n * reads[name]
        for part, seconds in layer(spec, read, mean * reads[name], gpu):
            parts[part] += spec.n_layers * seconds
        saved += spec.n_layers * saved_bytes(spec) * read
    weights = count_weights(model)
    masked = model.shape == "encoder" and not batches.any_order and batches.masked
    predicted = n * (masked or reads.get("decoder", 1.0))
    parts["products"] += product(predicted, model.d_model, model.n_outputs, gpu)
    parts["loss"] = 3 * 2 * predicted * model.n_outputs / gpu.bandwidth
    parts["optimiser"] = 48 * weights / gpu.bandwidth
    one = sum(parts.values())
    exchange = 0.0
    share = PLAIN["text" if text else "pairs"] if world > 1 or batches.any_order else 1.0
    if world > 1:
        exchange = 2 * (world - 1) / world * 4 * weights / (gpu.links if machines == 1 else NETWORK)
    turns = -(-train.batches_per_step // world)
    seconds = turns * one / share
    seconds += max(0.0, exchange - BACKWARD * one / share)
    sharded = world if train.parallel == "fsdp" else 1
    logits = 2 * min(CHUNK, n) * model.n_outputs
    step_tokens = n * train.batches_per_step
    return Plan(
        weights, parts, seconds, exchange, PERMANENT * weights / sharded / 2**30, (saved + logits) / 2**30, step_tokens,
        tokens or float(train.steps) * step_tokens,
    )  # fmt: skip


PARTS: tuple[Part, ...] = ("products", "attention", "norms", "activations", "loss", "optimiser", "launches")


def product(n: float, inner: int, width: int, gpu: Gpu) -> float:
    """Seconds of a product and those of its two gradients; that of the weights is in float32."""
    compute = 2 * n * inner * width / gpu.products
    inputs, weights, outputs = n * inner, inner * width, n * width
    forward, of_weights = 2 * (inputs + weights + outputs), 2 * (inputs + outputs) + 4 * weights
    return 2 * max(compute, forward / gpu.bandwidth) + max(compute, of_weights / gpu.bandwidth)


def shares(config: Config) -> dict[str, float]:
    """How many of a batch's tokens each stack reads: all, or what corruption makes of a text."""
    batches = config.batches
    match batches.corrupted:
        case "spans":  # of three tokens on average: one stands for each in the source, and before each in the target
            return {"encoder": 1 - batches.masked * 2 / 3, "decoder": batches.masked * 4 / 3}
        case "infilling":
            return {"encoder": 1 - batches.masked * 2 / 3, "decoder": 1.0}
    return {"encoder": 1 + batches.any_order, "decoder": 1.0}


def layer(spec: StackSpec, n: float, length: float, gpu: Gpu) -> Iterator[tuple[Part, float]]:
    """The seconds of each part of a layer, for n tokens in sequences of a mean length."""
    q, k, v, out = widths(spec)
    for name in spec.sublayers:
        yield "norms", 2 * (9 if spec.norm == "pre" else 8) * n * spec.d_model / gpu.bandwidth
        yield "launches", LAUNCHES
        if name == "feed_forward":
            gated = spec.activation in ("swiglu", "geglu")
            yield "products", product(n, spec.d_model, spec.d_ff * (1 + gated), gpu)
            yield "products", product(n, spec.d_ff, spec.d_model, gpu)
            passes = 3 if spec.activation == "relu" else 8 if gated else 5
            bias = spec.d_model if spec.feed_forward_bias else 0
            yield "activations", 2 * n * (passes * spec.d_ff + bias) / gpu.bandwidth
            continue
        together = (q, k + v) if name == "cross_attention" else (q + k + v,)
        for width in together:
            yield "products", product(n, spec.d_model, width, gpu)
        yield "products", product(n, out, spec.d_model, gpu)
        seen = length / 2 if spec.causal and name == "self_attention" else length
        # Two products of rows forward, seven backward, of which each gradient repeats the scores.
        yield "attention", 9 * n * seen * q / gpu.attention + 2 * n * 14 * spec.d_model / gpu.bandwidth
        if spec.attention_bias:
            yield "activations", 2 * n * (q + k + v + spec.d_model) / gpu.bandwidth


def saved_bytes(spec: StackSpec) -> float:
    """Bytes of a token that a layer keeps for the backward pass."""
    inner = {"relu": 1, "swiglu": 3, "geglu": 3}.get(spec.activation, 2) * spec.d_ff
    attention = sum(name != "feed_forward" for name in spec.sublayers)
    return 2 * (2 * len(spec.sublayers) * spec.d_model + attention * sum(widths(spec)) + inner)


def widths(spec: StackSpec) -> tuple[int, int, int, int]:
    """Of all heads together: queries, keys, values, and the heads' outputs."""
    shared = spec.n_kv_heads or spec.n_heads
    return spec.n_heads * spec.k_width, shared * spec.k_width, shared * spec.v_width, spec.n_heads * spec.v_width


def with_vocabulary(config: Config) -> ModelConfig:
    """The model with the vocabulary that `hark prepare` will learn, unless the settings choose one."""
    chosen = config.model.vocab_size != ModelConfig().vocab_size
    return config.model if chosen else replace(config.model, vocab_size=config.data.vocab_size)
