"""The weights of a Marian model by hark's names."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.foreign import NEVER
from hark.weights import Array


def convert(weights: Mapping[str, Array], config: ModelConfig, where: object) -> dict[str, Array]:
    """Return the weights by hark's names. Marian multiplies from the left, so matrices are transposed."""

    def get(name: str) -> Array:
        if name not in weights:
            raise UserError(
                f"{where}: the weight {name} is missing; the file is incomplete, or of another architecture"
            )
        return weights[name]

    def extended(matrix: Array) -> Array:
        """With a row of zeros for padding."""
        return np.concatenate([matrix, np.zeros((1, matrix.shape[1]), np.float32)])

    found = {"embedding.weight": extended(get("Wemb" if "Wemb" in weights else "decoder_Wemb"))}
    if config.tie != "all":
        found["source_embedding.weight"] = found["embedding.weight"] if "Wemb" in weights else get("encoder_Wemb")
    if config.tie == "none":
        output = weights.get("decoder_ff_logit_out_Wt")
        found["projection.weight"] = extended(get("decoder_ff_logit_out_W").T if output is None else output)
    bias = weights.get("decoder_ff_logit_out_b", np.zeros(config.vocab_size - 1, np.float32))
    found["output_bias"] = np.append(bias.reshape(-1), np.float32(NEVER))
    for stack, side in (("encoder", "source"), ("decoder", "target")):
        if config.positions == "learned":
            found[f"{side}_positions.weight"] = get("Wpos")
        if config.embedding_norm:
            _add_norm(found, f"{side}_norm", get, f"{stack}_emb", "_pre")
        if config.norm == "pre":
            _add_norm(found, f"{stack}.norm", get, f"{stack}_top", "")
    suffix = "_pre" if config.norm == "pre" else ""
    for ours, theirs, norm in layer_names(config):
        if norm:
            _add_norm(found, ours, get, theirs, suffix)
        else:
            matrix, _, part = theirs.rpartition("_")
            found[f"{ours}.weight"] = get(f"{matrix}_W{part}").T
            found[f"{ours}.bias"] = get(f"{matrix}_b{part}").reshape(-1)
    return found


def _add_norm(found: dict[str, Array], ours: str, get: Any, theirs: str, suffix: str) -> None:
    found[f"{ours}.weight"] = get(f"{theirs}_ln_scale{suffix}").reshape(-1)
    found[f"{ours}.bias"] = get(f"{theirs}_ln_bias{suffix}").reshape(-1)


def layer_names(config: ModelConfig) -> Iterator[tuple[str, str, bool]]:
    """Hark's and Marian's names of projections and norms in layers, and which are norms."""
    for stack, layers in (("encoder", config.n_encoder_layers), ("decoder", config.n_decoder_layers)):
        for i in range(layers):
            ours, theirs = f"{stack}.layers.{i}", f"{stack}_l{i + 1}"
            attentions = {"self_attention": "self"} | ({"cross_attention": "context"} if stack == "decoder" else {})
            for attention, name in attentions.items():
                for part in "qkvo":
                    yield f"{ours}.{attention}.w_{part}", f"{theirs}_{name}_{part}", False
                yield f"{ours}.{attention}_residual.norm", f"{theirs}_{name}_Wo", True
            for part in "12":
                yield f"{ours}.feed_forward.w_{part}", f"{theirs}_ffn_{part}", False
            yield f"{ours}.feed_forward_residual.norm", f"{theirs}_ffn_ffn", True
