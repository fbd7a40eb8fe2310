"""The weights of Hugging Face's Marian, Pegasus, M2M100 and mBART models under hark's names, and back.

They share one layout, that of BART: what differs are norms, positions and biases, which the settings tell.
"""

from collections.abc import Iterator

import numpy as np

from hark.config import ModelConfig
from hark.errors import UserError
from hark.weights import Array, Weights

ATTENTION = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o"}
SHARED = "model.shared.weight"
SOURCE, TARGET = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
OUTPUT, BIAS = "lm_head.weight", "final_logits_bias"
POSITIONS = {"source_positions": "model.encoder.embed_positions", "target_positions": "model.decoder.embed_positions"}
LEARNED_OFFSET = 2
"""Rows at the beginning of a table of learned positions that are never used: BART reserves one for padding."""


def layer_names(config: ModelConfig) -> Iterator[tuple[str, str]]:
    """Pairs of hark's and Hugging Face's names of the modules in and around layers."""
    for stack, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        side = "source" if stack == "encoder" else "target"
        if config.embedding_norm:
            yield f"{side}_norm", f"model.{stack}.layernorm_embedding"
        if config.norm == "pre":
            yield f"{stack}.norm", f"model.{stack}.layer_norm"
        for i in range(layers):
            ours, theirs = f"{stack}.layers.{i}", f"model.{stack}.layers.{i}"
            attentions = {"self_attention": "self_attn"}
            if stack == "decoder":
                attentions["cross_attention"] = "encoder_attn"
            for attention, name in attentions.items():
                for part, w in ATTENTION.items():
                    yield f"{ours}.{attention}.{w}", f"{theirs}.{name}.{part}"
                yield f"{ours}.{attention}_residual.norm", f"{theirs}.{name}_layer_norm"
            yield f"{ours}.feed_forward.w_1", f"{theirs}.fc1"
            yield f"{ours}.feed_forward.w_2", f"{theirs}.fc2"
            yield f"{ours}.feed_forward_residual.norm", f"{theirs}.final_layer_norm"


def convert(weights: Weights, config: ModelConfig, where: object) -> dict[str, Array]:
    """Return the weights of a model by hark's names. Tied matrices are stored once under any of their names."""

    def first(*names: str) -> Array:
        for name in names:
            if name in weights:
                return weights[name]
        raise UserError(f"{where}: the weight {names[0]} is missing; the file is incomplete or of another architecture")

    found: dict[str, Array] = {}
    match config.tie:
        case "all":
            found["embedding.weight"] = first(SHARED, TARGET, SOURCE, OUTPUT)
        case "target":
            found["embedding.weight"] = first(TARGET, OUTPUT)
            found["source_embedding.weight"] = first(SOURCE, SHARED)
        case "none":
            found["embedding.weight"] = first(TARGET, SHARED)
            found["source_embedding.weight"] = first(SOURCE, SHARED)
            found["projection.weight"] = first(OUTPUT)
    if config.output_bias:
        found["output_bias"] = first(BIAS).reshape(-1)
    if config.positions == "learned":
        for ours, theirs in POSITIONS.items():
            found[f"{ours}.weight"] = first(f"{theirs}.weight")[LEARNED_OFFSET:]
    for ours, theirs in layer_names(config):
        found[f"{ours}.weight"], found[f"{ours}.bias"] = first(f"{theirs}.weight"), first(f"{theirs}.bias")
    return found


def convert_back(weights: Weights, config: ModelConfig, order: Array | slice) -> Iterator[tuple[str, Array]]:
    """The inverse of `convert`, for tied embeddings. `order`: the features of the residual stream in their order there.

    Zeros fill the biases of attention that a model lacks, and the unused rows of learned positions.
    """
    yield SHARED, weights["embedding.weight"][:, order]
    if config.output_bias:
        yield BIAS, weights["output_bias"][None]
    if config.positions == "learned":
        unused = np.zeros((LEARNED_OFFSET, config.d_model), np.float32)
        for ours, theirs in POSITIONS.items():
            yield f"{theirs}.weight", np.concatenate([unused, weights[f"{ours}.weight"][:, order]])
    for ours, theirs in layer_names(config):
        weight = weights[f"{ours}.weight"]
        bias = weights.get(f"{ours}.bias", np.zeros(len(weight), np.float32))
        # Norms and the last matrix of a sub-layer write the residual stream; the others read it.
        writes = weight.ndim == 1 or ours.endswith((".w_o", ".w_2"))
        yield f"{theirs}.weight", weight[order] if writes else weight[:, order]
        yield f"{theirs}.bias", bias[order] if writes else bias
