"""Reading of CTranslate2's model.bin, a list of named arrays: hark's settings, and the weights by hark's names.

Quantised matrices are restored to float32, and stacked projections split again.
"""

import math
import struct
from dataclasses import dataclass, replace
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np

from hark.config import ModelConfig
from hark.errors import UserError
from hark.exchange.foreign import NEVER
from hark.settings import SettingError
from hark.weights import Array, sinusoids

SPEC = "TransformerSpec"
VERSIONS = (4, 5, 6)
"""Versions of the file format: since 4, arrays have a type number and a size in bytes."""
TYPES = ("<f4", "<i1", "<i2", "<i4", "<f2", "<u2")
"""By type number; the last is bfloat16."""
MAX_ARRAYS = 100_000
ACTIVATIONS = {0: "relu", 2: "swish", 3: "gelu"}
POSITIONS = 1024
"""Size of the table of positions of a model without one; CTranslate2 computes them as needed."""
MAX_TABLE_DIFFERENCE = 1e-4
"""Largest difference between a table of positions and a known formula."""


@dataclass(frozen=True, eq=False)
class ModelFile:
    """The arrays of a model, memory-mapped, by name; aliases are resolved."""

    path: Path
    arrays: dict[str, Array]
    bfloat16: frozenset[str]

    @classmethod
    def read(cls, path: Path) -> "ModelFile":
        try:
            return _Reader(path).read()
        except (OSError, ValueError, IndexError, struct.error, KeyError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: not a model.bin of CTranslate2, or incomplete ({error})") from None

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def first_name(self, *names: str) -> str:
        """The first of these names that the model has."""
        for name in names:
            if name in self:
                return name
        raise UserError(f"{self.path}: the array {names[0]} is missing; the architecture is not supported")

    def number(self, name: str, default: float) -> float:
        """A scalar, such as a number of heads."""
        return float(self.arrays[name].reshape(-1)[0]) if name in self.arrays else default

    def floats(self, name: str) -> Array:
        """An array in float32, restored if it is quantised."""
        if name not in self.arrays:
            raise UserError(f"{self.path}: the array {name} is missing; the architecture is not supported")
        array = self.arrays[name]
        if name in self.bfloat16:
            return (array.astype(np.uint32) << 16).view(np.float32)
        if array.dtype.kind == "f":
            return array.astype(np.float32, copy=False)
        scale = self.arrays.get(f"{name}_scale")
        if scale is None:
            raise UserError(f"{self.path}: {name} is quantised, but has no scale")
        scale = scale.astype(np.float32)
        restored: Array = array.astype(np.float32) / (scale.reshape(-1, 1) if scale.size > 1 else scale.reshape(()))
        return restored

    @property
    def storage(self) -> str:
        """The type of the stored matrices."""
        kinds = {array.dtype.name for name, array in self.arrays.items() if array.ndim == 2}
        if self.bfloat16:
            return "bfloat16"
        return next((kind for kind in ("int8", "int16", "float16") if kind in kinds), "float32")


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.raw: Any = np.memmap(path, mode="r") if path.stat().st_size else np.zeros(0, np.uint8)
        self.at = 0

    def read(self) -> ModelFile:
        (version,) = self.unpack("=I")
        if version not in VERSIONS:
            raise ValueError(f"version {version} of the format, only {', '.join(map(str, VERSIONS))} are known")
        spec = self.string()
        if spec != SPEC:
            raise ValueError(f"a {spec!r}, not an encoder-decoder")
        _, count = self.unpack("=II")
        if count > MAX_ARRAYS:
            raise ValueError(f"{count} arrays")
        arrays: dict[str, Array] = {}
        bfloat16 = set()
        for _ in range(count):
            name = self.string()
            (rank,) = self.unpack("=B")
            shape = self.unpack(f"={rank}I")
            kind, size = self.unpack("=BI")
            data = self.raw[self.at : self.at + size]
            if len(data) != size:
                raise ValueError(f"ends within {name}")
            self.at += size
            if kind == len(TYPES) - 1:
                bfloat16.add(name)
            arrays[name] = np.frombuffer(data, TYPES[kind]).reshape(shape)
        (aliases,) = self.unpack("=I")
        for _ in range(min(aliases, MAX_ARRAYS)):
            name, other = self.string(), self.string()
            arrays[name] = arrays[other]
            if other in bfloat16:
                bfloat16.add(name)
        return ModelFile(self.path, arrays, frozenset(bfloat16))

    def unpack(self, form: str) -> tuple[int, ...]:
        size = struct.calcsize(form)
        found = struct.unpack(form, self.raw[self.at : self.at + size].tobytes())
        self.at += size
        return found

    def string(self) -> str:
        (length,) = self.unpack("=H")
        text: bytes = self.raw[self.at : self.at + length].tobytes()
        if len(text) != length:
            raise ValueError("ends within a name")
        self.at += length
        return text.removesuffix(b"\0").decode()


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
    return next(i for i in count() if f"{stack}/layer_{i}/ffn/linear_0/weight" not in file)


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
    for kind, offset in product(("sinusoidal", "sinusoidal_halves", "sinusoidal_t2t"), (0, 1, 2)):
        candidate = replace(config, positions=kind, position_offset=offset)  # type: ignore[arg-type]
        known = sinusoids(candidate)
        if all(table.shape == known.shape and np.abs(table - known).max() < MAX_TABLE_DIFFERENCE for table in tables):
            return candidate
    if tables[0].shape != tables[1].shape:
        raise UserError(f"{file.path}: encoder and decoder have different numbers of positions")
    return replace(config, positions="learned" if any(each.any() for each in tables) else "none")


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
    attentions: list[tuple[str, str, tuple[str, ...]]] = [("self_attention", "self_attention", ("qkv", "o"))]
    if cross:
        attentions.append(("cross_attention", "attention", ("q", "kv", "o")))
    for our_name, their_name, stacks in attentions:
        found |= _attention(file, config, f"{ours}.{our_name}", f"{theirs}/{their_name}", stacks)
        _add_norm(found, f"{ours}.{our_name}_residual.norm", file, f"{theirs}/{their_name}/layer_norm")
    return found


def _attention(
    file: ModelFile, config: ModelConfig, ours: str, theirs: str, stacks: tuple[str, ...]
) -> dict[str, Array]:
    """The projections of an attention. `stacks`: which of q, k, v and o each matrix contains, one upon the other."""
    found: dict[str, Array] = {}
    usual = 1 / math.sqrt(config.k_width)
    factor = np.float32(file.number(f"{theirs}/queries_scale", usual) / usual)
    for number, parts in enumerate(stacks):
        for kind in ("weight", "bias") if config.attention_bias else ("weight",):
            whole = file.floats(f"{theirs}/linear_{number}/{kind}")
            if len(whole) % len(parts):
                raise UserError(f"{file.path}: {theirs}/linear_{number} has {len(whole)} rows")
            for part, matrix in zip(parts, np.split(whole, len(parts)), strict=True):
                scaled = part == "q" and abs(factor - 1) > 1e-6
                found[f"{ours}.w_{part}.{kind}"] = matrix * factor if scaled else matrix
    return found


def _add_norm(found: dict[str, Array], ours: str, file: ModelFile, theirs: str) -> None:
    found[f"{ours}.weight"] = file.floats(f"{theirs}/gamma")
    found[f"{ours}.bias"] = file.floats(f"{theirs}/beta")
