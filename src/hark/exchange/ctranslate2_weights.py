"""The weights of a CTranslate2 model by hark's names: stacked projections are split again."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.ctranslate2_file import ModelFile
from hark.exchange.foreign import NEVER
from hark.weights import Array


def convert(file: ModelFile, config: ModelConfig, zero_start: bool) -> dict[str, Array]:
    """Return the weights by hark's names."""

    def extended(matrix: Array) -> Array:
        return np.concatenate([matrix, np.zeros((1, matrix.shape[1]), np.float32)]) if zero_start else matrix

    found = {"embedding.weight": extended(file.floats("decoder/embeddings/weight"))}
    if config.tie != "all":
        one_matrix = config.source_vocab_size is None
        source = file.floats(file.first_name("encoder/embeddings_0/weight", "encoder/embeddings/weight"))
        found["source_embedding.weight"] = extended(source) if one_matrix else source
    if config.tie == "none":
        found["projection.weight"] = extended(file.floats("decoder/projection/weight"))
    if config.output_bias:
        name, own_size = "decoder/projection/bias", config.vocab_size - zero_start
        bias = file.floats(name).reshape(-1) if name in file else np.zeros(own_size, np.float32)
        found["output_bias"] = np.append(bias, np.float32(NEVER)) if zero_start else bias
    for stack, side in (("encoder", "source"), ("decoder", "target")):
        if config.positions == "learned":
            found[f"{side}_positions.weight"] = file.floats(f"{stack}/position_encodings/encodings")
        if config.embedding_norm:
            _add_norm(found, f"{side}_norm", file, f"{stack}/layernorm_embedding")
        if config.norm == "pre":
            _add_norm(found, f"{stack}.norm", file, f"{stack}/layer_norm")
        layers = config.n_encoder_layers if stack == "encoder" else config.n_decoder_layers
        for i in range(layers):
            found |= _layer(file, config, f"{stack}.layers.{i}", f"{stack}/layer_{i}", stack == "decoder")
    return found


def _layer(file: ModelFile, config: ModelConfig, ours: str, theirs: str, cross: bool) -> dict[str, Array]:
    found: dict[str, Array] = {}
    names = {"w_1": "linear_0", "w_2": "linear_1"}
    if config.activation == "swiglu":
        names = {"w_gate": "linear_0", "w_1": "linear_0_noact", "w_2": "linear_1"}
    for name, linear in names.items():
        found[f"{ours}.feed_forward.{name}.weight"] = file.floats(f"{theirs}/ffn/{linear}/weight")
        found[f"{ours}.feed_forward.{name}.bias"] = file.floats(f"{theirs}/ffn/{linear}/bias")
    _add_norm(found, f"{ours}.feed_forward_residual.norm", file, f"{theirs}/ffn/layer_norm")
    for attention in _attentions(ours, theirs, cross):
        found |= attention.weights(file, config)
        _add_norm(found, f"{attention.ours}_residual.norm", file, f"{attention.theirs}/layer_norm")
    return found


@dataclass(frozen=True)
class StackedAttention:
    """The projections of an attention, some of which CTranslate2 stacks into one matrix."""

    ours: str
    theirs: str
    linears: tuple[str, ...]
    """For each matrix, its parts: q, k, v or o."""

    def weights(self, file: ModelFile, config: ModelConfig) -> dict[str, Array]:
        found: dict[str, Array] = {}
        usual = 1 / math.sqrt(config.k_width)
        factor = np.float32(file.number(f"{self.theirs}/queries_scale", usual) / usual)
        for number, parts in enumerate(self.linears):
            for kind in ("weight", "bias") if config.attention_bias else ("weight",):
                whole = file.floats(f"{self.theirs}/linear_{number}/{kind}")
                if len(whole) % len(parts):
                    raise UserError(f"{file.path}: {self.theirs}/linear_{number} has {len(whole)} rows")
                for part, each in zip(parts, np.split(whole, len(parts)), strict=True):
                    scaled = part == "q" and abs(factor - 1) > 1e-6
                    found[f"{self.ours}.w_{part}.{kind}"] = each * factor if scaled else each
        return found


def _attentions(ours: str, theirs: str, cross: bool) -> Iterator[StackedAttention]:
    yield StackedAttention(f"{ours}.self_attention", f"{theirs}/self_attention", ("qkv", "o"))
    if cross:
        yield StackedAttention(f"{ours}.cross_attention", f"{theirs}/attention", ("q", "kv", "o"))


def _add_norm(found: dict[str, Array], ours: str, file: ModelFile, theirs: str) -> None:
    found[f"{ours}.weight"] = file.floats(f"{theirs}/gamma")
    found[f"{ours}.bias"] = file.floats(f"{theirs}/beta")
