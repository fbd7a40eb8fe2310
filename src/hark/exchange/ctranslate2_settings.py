"""The settings of a CTranslate2 model, from the arrays in its model.bin."""

from dataclasses import replace

import numpy as np

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.ctranslate2_file import ModelFile
from hark.settings import SettingError
from hark.weights import sinusoids

ACTIVATIONS = {0: "relu", 2: "swish", 3: "gelu"}
POSITIONS = 1024
"""Size of the table of positions of a model without one; CTranslate2 computes them as needed."""
CLOSE = 1e-4
"""Largest difference between a table of positions and a known formula."""


def model_config(file: ModelFile, zero_start: bool) -> ModelConfig:
    """The settings of a model, from the arrays in its file."""
    where = file.path
    embeddings = file.first_name("encoder/embeddings_0/weight", "encoder/embeddings/weight")
    source, target = file.arrays[embeddings], file.arrays[file.first_name("decoder/embeddings/weight")]
    output = file.arrays[file.first_name("decoder/projection/weight")]
    width = int(target.shape[1])
    heads = int(file.number("encoder/num_heads", file.number("num_heads", 8)))
    activation = int(file.number("encoder/activation", 0))
    glu = "encoder/layer_0/ffn/linear_0_noact/weight" in file
    if activation not in ACTIVATIONS or (glu and activation != 2):
        raise UserError(f"{where}: the activation (number {activation}) is not supported")
    for name in ("alibi", "sliding_window", "final_logit_softcapping", "scale_outputs"):
        if file.number(f"decoder/{name}", 0):
            raise UserError(f"{where}: {name} is not supported")
    for name in ("relative_position_keys", "relative_attention_bias", "q_norm/gamma", "num_heads_kv"):
        if f"encoder/layer_0/self_attention/{name}" in file:
            raise UserError(f"{where}: {name} is not supported")
    shared = source is target or (source.shape == target.shape and np.array_equal(source, target))
    tied = output is target or (output.shape == target.shape and np.array_equal(output, target))
    head = int(file.number("encoder/layer_0/self_attention/head_dim", width // heads))
    own_width = None if head * heads == width else head
    try:
        config = ModelConfig(
            d_model=width,
            d_ff=int(file.arrays[file.first_name("encoder/layer_0/ffn/linear_0/weight")].shape[0]),
            n_heads=heads,
            n_encoder_layers=count_layers(file, "encoder"),
            n_decoder_layers=count_layers(file, "decoder"),
            norm="pre" if file.number("encoder/pre_norm", 1) else "post",
            activation="swiglu" if glu else ACTIVATIONS[activation],  # type: ignore[arg-type]
            attention_bias="encoder/layer_0/self_attention/linear_0/bias" in file,
            vocab_size=len(target) + zero_start,
            source_vocab_size=None if shared else len(source),
            tie=("all" if shared else "target") if tied else "none",
            output_bias=zero_start or "decoder/projection/bias" in file,
            scale_embedding=bool(file.number("encoder/scale_embeddings", 1)),
            embedding_norm="encoder/layernorm_embedding/gamma" in file,
            d_k=own_width,
            d_v=own_width,
        )
        return positions_of(file, config)
    except SettingError as error:
        raise UserError(f"{where}: {error}") from None


def count_layers(file: ModelFile, stack: str) -> int:
    layers = 0
    while f"{stack}/layer_{layers}/ffn/linear_0/weight" in file:
        layers += 1
    return layers


def positions_of(file: ModelFile, config: ModelConfig) -> ModelConfig:
    """The settings of positions: a known formula that gives the stored table, or the table as learned positions."""
    name = "encoder/position_encodings/encodings"
    if "encoder/layer_0/self_attention/rotary_dim" in file:
        dim = int(file.number("encoder/layer_0/self_attention/rotary_dim", 0))
        plain = file.number("encoder/layer_0/self_attention/rotary_base", 10000) == 10000
        if dim != config.k_width or not plain or not file.number("encoder/layer_0/self_attention/rotary_interleave", 1):
            raise UserError(f"{file.path}: this form of rotary positions is not supported")
        return replace(config, positions="rotary", max_positions=POSITIONS)
    if name not in file:  # CTranslate2's own, which begin at 1
        return replace(config, positions="sinusoidal_t2t", position_offset=1, max_positions=POSITIONS)
    tables = [file.floats(f"{stack}/position_encodings/encodings") for stack in ("encoder", "decoder")]
    config = replace(config, max_positions=len(tables[0]))
    kinds = ("sinusoidal", "sinusoidal_halves", "sinusoidal_t2t")
    for candidate in (
        replace(config, positions=kind, position_offset=offset)  # type: ignore[arg-type]
        for kind in kinds
        for offset in (0, 1, 2)
    ):
        known = sinusoids(candidate)
        if all(each.shape == known.shape and np.abs(each - known).max() < CLOSE for each in tables):
            return candidate
    if tables[0].shape != tables[1].shape:
        raise UserError(f"{file.path}: encoder and decoder have different numbers of positions")
    return replace(config, positions="learned" if any(each.any() for each in tables) else "none")
