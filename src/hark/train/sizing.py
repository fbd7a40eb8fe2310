"""How large a model suits the machine, and what training one costs there, told before it begins."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from hark.config import Config, ModelConfig
from hark.machine import available_memory
from hark.model import Transformer
from hark.pages import formats

SMALL: Mapping[str, Any] = {"n_encoder_layers": 2, "n_decoder_layers": 2, "d_model": 128, "d_ff": 512, "n_heads": 4}
"""As in the recipe `tiny`: what a CPU trains in minutes to hours, where the paper's base model takes weeks."""
SMALL_BATCH = 2048
DECIDED_ELSEWHERE = {"vocab_size", "source_vocab_size"}
"""Settings of the model that the dataset decides, whatever a recipe says: naming them says nothing of its size."""

PROCESS_BYTES = 520_000_000
"""Of Python, torch and their buffers, whatever the model (docs/results/logs/training/cpu-memory.txt)."""


def suit_cpu(config: Config, given: Mapping[str, Any]) -> tuple[Config, str | None]:
    """The settings with a small model, and a line that says so, where nothing that was `given` is about its size.

    `given` are the sections and settings that a recipe or the command line named; what they name stays as it is.
    """
    if config.train.from_ or set(given.get("model", {})) - DECIDED_ELSEWHERE:
        return config, None
    batches = config.batches
    if "batch_tokens" not in given.get("batches", {}):
        batches = replace(batches, batch_tokens=max(SMALL_BATCH, batches.max_length))
    model = replace(config.model, **SMALL)
    return replace(config, model=model, batches=batches), (
        f"no GPU here, and no setting of [model]: a small model is trained ({model.n_encoder_layers} + "
        f"{model.n_decoder_layers} layers, width {model.d_model}, batches of {batches.batch_tokens:,} tokens); "
        "for another name its size, such as model.d_model=512"
    )


def count_weights(model: ModelConfig) -> int:
    with torch.device("meta"):
        return sum(weight.numel() for weight in Transformer(model).parameters())


def estimate_cpu_memory(config: Config) -> int:
    """Bytes that training takes on a CPU in float32: what stays (weights, gradients, Adam's two means and the moving
    average) and what a batch needs (activations of each layer; logits, their logarithms and gradients)."""
    model, tokens = config.model, config.batches.batch_tokens
    kept = 4 * count_weights(model) * (4 if config.train.ema is None else 5)
    encoder = model.n_encoder_layers * (12 * model.d_model + model.d_ff)
    decoder = model.n_decoder_layers * (20 * model.d_model + model.d_ff)
    return PROCESS_BYTES + kept + 4 * tokens * (encoder + decoder + 3 * model.vocab_size)


def describe_cpu_cost(config: Config) -> str:
    """What training will take, in one line."""
    memory, free = estimate_cpu_memory(config), available_memory()
    weights = formats.short(count_weights(config.model))
    line = f"on the CPU: {weights} weights, about {formats.size(memory)} of memory"
    if free is None:
        return line
    line += f" ({formats.size(free)} are free)"
    return line if memory <= free else f"{line}: too little; lower batches.batch_tokens, or name a smaller model"
