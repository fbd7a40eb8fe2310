"""The weights of Hugging Face's Marian, M2M100 and mBART models under hark's names.

The three share one layout, that of BART: what differs are norms, positions and biases, which the settings tell.
"""

from collections.abc import Iterator

from hark.config import ModelConfig
from hark.errors import UserError
from hark.weights import Array, Weights

ATTENTION = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o"}
SHARED = "model.shared.weight"
SOURCE, TARGET = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
OUTPUT, BIAS = "lm_head.weight", "final_logits_bias"
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
        for side, stack in (("source", "encoder"), ("target", "decoder")):
            table = first(f"model.{stack}.embed_positions.weight")
            found[f"{side}_positions.weight"] = table[LEARNED_OFFSET:]
    for ours, theirs in layer_names(config):
        found[f"{ours}.weight"], found[f"{ours}.bias"] = first(f"{theirs}.weight"), first(f"{theirs}.bias")
    return found
