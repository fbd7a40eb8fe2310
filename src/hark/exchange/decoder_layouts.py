"""Layouts of a decoder alone, as others store it: GPT-2's and Llama's in Hugging Face's form, and Llama's in GGUF.

Hugging Face rotates the first half of a head's width against the second, where hark, GGUF and the paper on rotary
positions rotate neighbours. Sorting the rows of queries and keys leaves the model unchanged. GPT-2 stores matrices
transposed, and queries, keys and values as one.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.foreign import weight_shapes
from hark.weights import Array, Weights, sinusoids

BUFFERS = re.compile(r"\.attn\.(masked_)?bias$|rotary_emb\.inv_freq$")
"""Constants that older versions of transformers stored among the weights."""


@dataclass(frozen=True)
class LayerNames:
    """Names of modules by hark's."""

    layer: str
    """Of a layer, with its number at {}."""
    outer: Mapping[str, str]
    inner: Mapping[str, str]

    def of(self, name: str) -> str:
        """The name of a weight."""
        module, _, part = name.rpartition(".")
        if not module.startswith("decoder.layers."):
            return f"{self.outer[module]}.{part}"
        _, _, number, inside = module.split(".", 3)
        return f"{self.layer.format(number)}.{self.inner[inside]}.{part}"


LLAMA = LayerNames(
    "model.layers.{}",
    {"embedding": "model.embed_tokens", "decoder.norm": "model.norm", "projection": "lm_head"},
    {
        "self_attention.w_q": "self_attn.q_proj",
        "self_attention.w_k": "self_attn.k_proj",
        "self_attention.w_v": "self_attn.v_proj",
        "self_attention.w_o": "self_attn.o_proj",
        "self_attention_residual.norm": "input_layernorm",
        "feed_forward.w_gate": "mlp.gate_proj",
        "feed_forward.w_1": "mlp.up_proj",
        "feed_forward.w_2": "mlp.down_proj",
        "feed_forward_residual.norm": "post_attention_layernorm",
    },
)
GGUF = LayerNames(
    "blk.{}",
    {"embedding": "token_embd", "decoder.norm": "output_norm", "projection": "output"},
    {
        "self_attention.w_q": "attn_q",
        "self_attention.w_k": "attn_k",
        "self_attention.w_v": "attn_v",
        "self_attention.w_o": "attn_output",
        "self_attention_residual.norm": "attn_norm",
        "feed_forward.w_gate": "ffn_gate",
        "feed_forward.w_1": "ffn_up",
        "feed_forward.w_2": "ffn_down",
        "feed_forward_residual.norm": "ffn_norm",
    },
)
GPT2 = LayerNames(
    "transformer.h.{}",
    {
        "embedding": "transformer.wte",
        "target_positions": "transformer.wpe",
        "decoder.norm": "transformer.ln_f",
        "projection": "lm_head",
    },
    {
        "self_attention.w_q": "attn.c_attn",
        "self_attention.w_k": "attn.c_attn",
        "self_attention.w_v": "attn.c_attn",
        "self_attention.w_o": "attn.c_proj",
        "self_attention_residual.norm": "ln_1",
        "feed_forward.w_1": "mlp.c_fc",
        "feed_forward.w_2": "mlp.c_proj",
        "feed_forward_residual.norm": "ln_2",
    },
)
THIRDS = (".w_q", ".w_k", ".w_v")


def from_llama(weights: Weights, config: ModelConfig, where: object, names: LayerNames = LLAMA) -> dict[str, Array]:
    """The weights by hark's names. Those of GGUF are in hark's order already."""
    found = taken(weights, config, names, where)
    if names is LLAMA:
        for name, array in found.items():
            if is_rotated(name):
                found[name] = neighbours(array, config.k_width)
    return found


def to_llama(weights: Weights, config: ModelConfig) -> Iterator[tuple[str, Array]]:
    for name, array in unscaled(weights, config).items():
        yield LLAMA.of(name), halves(array, config.k_width) if is_rotated(name) else array


def from_gpt2(weights: Weights, config: ModelConfig, where: object) -> dict[str, Array]:
    """The weights by hark's names."""
    # The first checkpoints were saved without the class that adds the prefix.
    bare = {name if name.startswith("lm_head") else f"transformer.{name}": each for name, each in weights.items()}
    found = taken(weights if "transformer.wte.weight" in weights else bare, config, GPT2, where)
    for name, array in found.items():
        if name.startswith("decoder.layers.") and array.ndim == 2:
            array = array.T
        module = name.rpartition(".")[0]
        found[name] = np.split(array, 3)[THIRDS.index(module[-4:])] if module.endswith(THIRDS) else array
    return found


def to_gpt2(weights: Weights, config: ModelConfig) -> Iterator[tuple[str, Array]]:
    """Zeros fill the biases that a model lacks; positions that are computed become a table."""
    weights = unscaled(weights, config)
    if config.positions != "learned":
        yield GPT2.of("target_positions.weight"), sinusoids(config)
    for name, array in weights.items():
        module, _, part = name.rpartition(".")
        if part == "bias" or module.endswith((".w_k", ".w_v")):
            continue
        if not module.startswith("decoder."):
            yield GPT2.of(name), array
            continue
        together = [module[:-1] + each for each in "qkv"] if module.endswith(".w_q") else [module]
        matrix = np.concatenate([weights[f"{each}.weight"] for each in together])
        yield GPT2.of(name), matrix.T
        zeros = np.zeros(len(matrix) // len(together), np.float32)
        yield GPT2.of(f"{module}.bias"), np.concatenate([weights.get(f"{each}.bias", zeros) for each in together])


def unscaled(weights: Weights, config: ModelConfig) -> Weights:
    """The weights of the same model without a factor on its embeddings, which neither layout has."""
    if not config.scale_embedding:
        return weights
    embedding = weights["embedding.weight"]
    projection = weights.get("projection.weight", embedding)
    scaled = embedding * np.float32(math.sqrt(config.d_model))
    return {**weights, "embedding.weight": scaled, "projection.weight": projection}


def taken(weights: Weights, config: ModelConfig, names: LayerNames, where: object) -> dict[str, Array]:
    """The weights that a model has, unchanged; others are refused, so that nothing of it is lost."""
    wanted = {name: names.of(name) for name in weight_shapes(config)}
    if missing := [each for each in wanted.values() if each not in weights]:
        raise UserError(f"{where}: the weight {missing[0]} is missing; the file is incomplete or of another layout")
    copies = () if config.tie == "none" else (names.of("projection.weight"),)
    others = sorted(name for name in weights.keys() - {*wanted.values(), *copies} if not BUFFERS.search(name))
    if others:
        raise UserError(f"{where}: the weight {others[0]} has no place in hark's model, which would compute another")
    return {ours: weights[theirs] for ours, theirs in wanted.items()}


def is_rotated(name: str) -> bool:
    return ".w_q." in name or ".w_k." in name


def neighbours(array: Array, width: int) -> Array:
    """The rows of queries or keys with each pair that is rotated side by side."""
    return array.reshape(-1, 2, width // 2, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def halves(array: Array, width: int) -> Array:
    """The inverse of `neighbours`."""
    return array.reshape(-1, width // 2, 2, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)
