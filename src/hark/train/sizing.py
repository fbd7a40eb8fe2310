"""A default model size for machines without a GPU, and the memory that training needs there."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from hark.card import describe_layers
from hark.config import Config, ModelConfig
from hark.machine import available_memory
from hark.model import new_model, stacks_of
from hark.model.weights import SkipMemory
from hark.pages import formats

SMALL: Mapping[str, Any] = {"n_encoder_layers": 2, "n_decoder_layers": 2, "d_model": 128, "d_ff": 512, "n_heads": 4}
"""The size in the recipe `tiny`: a CPU trains it in minutes to hours, but needs weeks for the paper's base model."""
SMALL_BATCH = 2048
NO_SIZE = {"shape", "vocab_size", "source_vocab_size"}
"""Settings in [model] that do not choose a size; the dataset determines the last two."""

PROCESS_BYTES = 520_000_000
"""Memory of Python, torch and their buffers, for any model (docs/results/logs/training/cpu-memory.txt)."""


def suit_cpu(config: Config, explicit: Mapping[str, Any]) -> tuple[Config, str | None]:
    """Choose a small model, and return a note about it, unless `explicit` settings choose the size.

    `explicit` holds the sections and settings of the recipe and the command line; they are never changed.
    """
    if config.train.from_ or set(explicit.get("model", {})) - NO_SIZE:
        return config, None
    batches = config.batches
    if "batch_tokens" not in explicit.get("batches", {}):
        batches = replace(batches, batch_tokens=max(SMALL_BATCH, batches.max_length))
    model = replace(config.model, **SMALL)
    return replace(config, model=model, batches=batches), (
        f"no GPU and no [model] settings: training a small model ({describe_layers(model)}, width {model.d_model}, "
        f"batches of {batches.batch_tokens:,} tokens); to choose another size, set for example model.d_model=512"
    )


@cache
def count_weights(model: ModelConfig) -> int:
    """Count the weights without allocating them. PyTorch's device "meta" would do, but it imports sympy first, which
    takes longer than the rest of the start."""
    with SkipMemory():
        return sum(weight.numel() for weight in new_model(model).parameters())


def estimate_cpu_memory(config: Config) -> int:
    """Estimate the bytes needed to train on a CPU in float32: permanent tensors (weights, gradients, Adam's moments,
    moving average) and those of a batch (activations of each layer; logits, log-probabilities and their gradients)."""
    model, tokens = config.model, config.batches.batch_tokens
    permanent = 4 * count_weights(model) * (4 if config.train.ema is None else 5)
    # Each sub-layer of attention keeps eight vectors of a token, the rest of a layer four and the feed-forward's own.
    layers = sum(
        spec.n_layers * ((8 * len(spec.sublayers) - 4) * spec.d_model + spec.d_ff) for spec in stacks_of(model).values()
    )
    return PROCESS_BYTES + permanent + 4 * tokens * (layers + 3 * model.n_outputs)


def describe_cpu_cost(config: Config) -> str:
    """Describe the size of the model and the memory it needs, in one line."""
    memory, free = estimate_cpu_memory(config), available_memory()
    weights = formats.short(count_weights(config.model))
    line = f"training on CPU: {weights} weights, about {formats.size(memory)} of memory"
    if free is None:
        return line
    line += f" ({formats.size(free)} free)"
    return line if memory <= free else f"{line}: not enough; lower batches.batch_tokens or choose a smaller model"
