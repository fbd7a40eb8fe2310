"""Converts a bundle's weights to a CTranslate2 model in memory, with numpy only, so that translating needs no torch.

CTranslate2's own converter imports torch if it is installed, which takes longer than loading and translating. Its model
file is a plain list of named arrays: they are named, arranged, quantised and written here. The names of tokens are
their ids ("17"), except in exports.
"""

import json
import math
import platform
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from hark.config import ModelConfig
from hark.engine.interface import AlignmentHeads
from hark.errors import UserError
from hark.machine import cpu_features
from hark.text.vocabulary import SpecialIds
from hark.weights import SCALE, Array, Weights, quantise, restore, sinusoids

MODEL = "model.bin"
ACTIVATIONS = {"relu": 0, "gelu": 3, "swish": 2, "swiglu": 2}
BINARY_VERSION, SPEC, REVISION = 6, "TransformerSpec", 7
TYPES = {np.dtype(name): number for number, name in enumerate(("float32", "int8", "int16", "int32", "float16"))}
INT16_LARGEST = 1 << 10
"""The largest value of int16 weights. CTranslate2 uses ten bits, so that sums of products do not overflow."""
HALVES = np.rint(np.arange(256, dtype=np.uint8).view(np.int8) / 2).astype(np.int8)
"""Half of each 8-bit number, by its bits."""
StoredType = Literal["float32", "float16", "int16", "int8", "int7"]
"""int7: int8 with weights of at most 64, for CPUs that saturate larger products (`saturates`)."""
ENCODER_POSITIONS, DECODER_POSITIONS = (f"{stack}/position_encodings/encodings" for stack in ("encoder", "decoder"))
TokenNames = tuple[Sequence[str], Sequence[str]]
"""The names of the source's and the target's tokens."""


def obstacle(config: ModelConfig) -> str | None:
    """Why an encoder-decoder cannot be converted, or None."""
    reasons = {
        f"has {config.positions} positions": config.biases_scores,
        "has RMSNorm": config.norm_kind == "rms",
        f"has the activation {config.activation}": config.activation not in ACTIVATIONS,
        "has a feed-forward network without biases": not config.feed_forward_bias,
        "has heads that share keys and values": config.kv_heads != config.n_heads,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


@dataclass
class Variables:
    """The named arrays of a CTranslate2 model, and their serialisation."""

    stored_type: StoredType
    arrays: dict[str, Array] = field(default_factory=dict)
    matrices: dict[str, tuple[Array, Array | None]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def number(self, name: str, value: float, dtype: str = "int8") -> None:
        self.arrays[name] = np.array(value, dtype)

    def array(self, name: str, array: Array) -> None:
        self.arrays[name] = np.ascontiguousarray(array, np.float32)

    def matrix(self, name: str, matrix: Array, scale: Array | None) -> None:
        """Add a weight matrix of a matrix product; it will be quantised, or already is if it has a `scale`."""
        self.matrices[name] = matrix, scale

    def stored(self, name: str, weights: Weights, stored: str) -> None:
        """Add a weight matrix in its stored form."""
        self.matrix(name, weights[stored], weights.get(stored + SCALE))

    def alias(self, name: str, other: str) -> None:
        """Add a second name for a shared matrix (paper, 3.4)."""
        self.aliases[f"{name}/weight"] = f"{other}/weight"
        if self.stored_type in ("int8", "int7", "int16"):
            self.aliases[f"{name}/weight_scale"] = f"{other}/weight_scale"

    def parts(self) -> Iterator[bytes | memoryview]:
        """The parts of the file."""
        arrays = dict(self.arrays)
        match self.stored_type:
            case "int8" | "int7":
                wide = [name for name, (_, scale) in self.matrices.items() if scale is None]
                quantised = dict(zip(wide, quantise([self.matrices[name][0] for name in wide]), strict=True))
                for name, (matrix, scale) in self.matrices.items():
                    whole = quantised[name] if scale is None else (matrix, scale)
                    arrays[f"{name}/weight"], arrays[f"{name}/weight_scale"] = whole
            case "int16":
                for name, matrix in self._floats():
                    factor = np.float32(INT16_LARGEST / max(np.abs(matrix).max(), np.finfo(np.float32).tiny))
                    arrays[f"{name}/weight"] = np.rint(matrix * factor).astype(np.int16)
                    arrays[f"{name}/weight_scale"] = np.array(factor)
            case "float32" | "float16":
                arrays |= {f"{name}/weight": matrix for name, matrix in self._floats()}
        if self.stored_type == "float16":
            arrays = {name: _to_half(array) for name, array in arrays.items()}
        yield from self._parts(arrays)

    def _is_quantised(self, name: str) -> bool:
        """Whether an array is a quantised matrix, or its scales."""
        return name.removesuffix("_scale").removesuffix("/weight") in self.matrices

    def _floats(self) -> Iterator[tuple[str, Array]]:
        """The matrices in float32."""
        for name, (matrix, scale) in self.matrices.items():
            yield name, np.ascontiguousarray(matrix) if scale is None else restore(matrix, scale)

    def _parts(self, arrays: Mapping[str, Array]) -> Iterator[bytes | memoryview]:
        """The parts of the file: version, specification and revision; variables; aliases."""
        yield struct.pack("=I", BINARY_VERSION) + _string(SPEC) + struct.pack("=II", REVISION, len(arrays))
        for name, full in arrays.items():
            array = _halve(full) if self.stored_type == "int7" and self._is_quantised(name) else full
            shape = struct.pack(f"={array.ndim}I", *array.shape)
            size = struct.pack("=BI", TYPES[array.dtype], array.nbytes)
            yield _string(name) + struct.pack("=B", array.ndim) + shape + size
            yield array.reshape(-1).view(np.uint8).data
        yield struct.pack("=I", len(self.aliases))
        for name, other in self.aliases.items():
            yield _string(name) + _string(other)


def _halve(array: Array) -> Array:
    return HALVES[array.view(np.uint8)] if array.dtype == np.int8 else array / 2


def _to_half(array: Array) -> Array:
    # Single numbers, such as the scale of queries, keep their type: CTranslate2 reads them as they are.
    return array.astype(np.float16) if array.dtype == np.float32 and array.ndim else array


def _string(text: str) -> bytes:
    return struct.pack("=H", len(text) + 1) + text.encode() + b"\0"


X86 = ("x86_64", "amd64", "i386", "i686")
SUMS_IN_32_BITS = "avx512_vnni"


@cache
def saturates() -> bool:
    """Whether sums of 8-bit products are cut off. An x86 CPU that is not known to have VNNI counts as one that does."""
    return platform.machine().lower() in X86 and SUMS_IN_32_BITS not in cpu_features()


def convert(
    weights: Weights,
    config: ModelConfig,
    special: SpecialIds,
    stored_type: StoredType = "int8",
    alignment: AlignmentHeads | None = None,
    names: TokenNames | None = None,
    adds_end: bool = True,
) -> dict[str, bytes]:
    """Return the files of a CTranslate2 model, by name, for `ctranslate2.Translator(files=...)`.

    With int8 and int7, matrices not stored as int8 are quantised here: CTranslate2 would do the same while loading, but
    more slowly and with a second copy in float32. With `names`, CTranslate2 appends EOS to the source itself, if the
    model expects it (`adds_end`).
    """
    variables = _variables(weights, config, stored_type, alignment)
    return _other_files(config, special, names, adds_end) | {MODEL: b"".join(variables.parts())}


def write_converted(
    folder: Path,
    weights: Weights,
    config: ModelConfig,
    special: SpecialIds,
    stored_type: StoredType,
    alignment: AlignmentHeads | None = None,
) -> None:
    """Write the files of a CTranslate2 model, array by array, which takes less memory than `convert`."""
    for name, content in _other_files(config, special, None, True).items():
        (folder / name).write_bytes(content)
    with (folder / MODEL).open("wb") as file:
        file.writelines(_variables(weights, config, stored_type, alignment).parts())


def _variables(
    weights: Weights, config: ModelConfig, stored_type: StoredType, alignment: AlignmentHeads | None
) -> Variables:
    if reason := obstacle(config):
        raise UserError(f"this model {reason}, which hark does not convert to CTranslate2; use --engine torch")
    variables = Variables(stored_type)
    _add_encoder(variables, weights, config)
    _add_decoder(variables, weights, config, alignment or AlignmentHeads.default(config))
    return variables


def _other_files(
    config: ModelConfig, special: SpecialIds, names: TokenNames | None, adds_end: bool
) -> dict[str, bytes]:
    """The files beside the weights: settings and vocabularies."""
    sources, targets = names or (_numbers(config.source_vocab_size or config.vocab_size), _numbers(config.vocab_size))
    settings = {
        "unk_token": targets[special.unknown],
        "bos_token": targets[special.start],
        "eos_token": targets[special.end],
        "decoder_start_token": targets[special.start],
        "add_source_bos": False,
        "add_source_eos": names is not None and adds_end,
        "layer_norm_epsilon": config.norm_eps,
        "multi_query_attention": False,
    }
    files = {"config.json": json.dumps(settings).encode()}
    if sources == targets:
        return files | {"shared_vocabulary.json": _vocabulary(targets)}
    return files | {"source_vocabulary.json": _vocabulary(sources), "target_vocabulary.json": _vocabulary(targets)}


def _numbers(size: int) -> list[str]:
    return [str(i) for i in range(size)]


def _vocabulary(names: Sequence[str]) -> bytes:
    return json.dumps(list(names)).encode()


def _add_encoder(variables: Variables, weights: Weights, config: ModelConfig) -> None:
    _add_stack(variables, weights, config, "encoder")
    variables.number("encoder/embeddings_merge", 0)
    variables.number("encoder/multi_query_attention", 0)
    source = "source_embedding" if config.separate_source else "embedding"
    variables.stored("encoder/embeddings_0", weights, f"{source}.weight")
    for i in range(config.n_encoder_layers):
        ours, theirs = f"encoder.layers.{i}", f"encoder/layer_{i}"
        _add_self_attention(variables, weights, config, ours, theirs)
        _add_feed_forward(variables, weights, ours, theirs)


def _add_decoder(variables: Variables, weights: Weights, config: ModelConfig, alignment: AlignmentHeads) -> None:
    layer, heads = alignment.layer, alignment.heads
    _add_stack(variables, weights, config, "decoder")
    variables.number("decoder/alignment_layer", layer, "int16")
    variables.number("decoder/alignment_heads", len(heads), "int16")
    if config.separate_source:
        variables.stored("decoder/embeddings", weights, "embedding.weight")
    else:
        variables.alias("decoder/embeddings", "encoder/embeddings_0")
    match config.tie:
        case "all":
            variables.alias("decoder/projection", "encoder/embeddings_0")
        case "target":
            variables.alias("decoder/projection", "decoder/embeddings")
        case "inputs" | "none":
            variables.stored("decoder/projection", weights, "projection.weight")
    if config.output_bias:
        variables.array("decoder/projection/bias", weights["output_bias"])
    for i in range(config.n_decoder_layers):
        ours, theirs = f"decoder.layers.{i}", f"decoder/layer_{i}"
        _add_self_attention(variables, weights, config, ours, theirs)
        _add_cross_attention(variables, weights, config, ours, theirs, heads if i == layer else ())
        _add_feed_forward(variables, weights, ours, theirs)


def _add_stack(variables: Variables, weights: Weights, config: ModelConfig, stack: str) -> None:
    variables.number(f"{stack}/num_heads", config.n_heads, "int16")
    variables.number(f"{stack}/pre_norm", config.norm == "pre")
    variables.number(f"{stack}/activation", ACTIVATIONS[config.activation])
    variables.number(f"{stack}/scale_embeddings", config.scale_embedding)
    if config.embedding_norm:
        side = "source" if stack == "encoder" else "target"
        _add_norm(variables, weights, f"{side}_norm", f"{stack}/layernorm_embedding")
    if config.norm == "pre":
        _add_norm(variables, weights, f"{stack}.norm", f"{stack}/layer_norm")
    match config.positions:
        case "sinusoidal" | "sinusoidal_halves" | "sinusoidal_t2t":
            # CTranslate2's own table is that of sinusoidal_t2t, with positions from 1.
            if stack == "decoder":
                variables.aliases[DECODER_POSITIONS] = ENCODER_POSITIONS
                return
            table = sinusoids(config)
        case "learned":
            table = weights[f"{'source' if stack == 'encoder' else 'target'}_positions.weight"]
        case "none":
            table = np.zeros((config.max_positions, config.d_model), np.float32)
        case "rotary" | "alibi" | "relative":
            return
    variables.array(ENCODER_POSITIONS if stack == "encoder" else DECODER_POSITIONS, table)


def _add_norm(variables: Variables, weights: Weights, ours: str, theirs: str) -> None:
    variables.array(f"{theirs}/gamma", weights[f"{ours}.weight"])
    variables.array(f"{theirs}/beta", weights[f"{ours}.bias"])


def _add_feed_forward(variables: Variables, weights: Weights, ours: str, theirs: str) -> None:
    _add_norm(variables, weights, f"{ours}.feed_forward_residual.norm", f"{theirs}/ffn/layer_norm")
    names = {"w_1": "linear_0", "w_2": "linear_1"}
    # CTranslate2 applies the activation to linear_0, hark to the gate.
    if f"{ours}.feed_forward.w_gate.weight" in weights:
        names = {"w_gate": "linear_0", "w_1": "linear_0_noact", "w_2": "linear_1"}
    for name, linear in names.items():
        variables.stored(f"{theirs}/ffn/{linear}", weights, f"{ours}.feed_forward.{name}.weight")
        variables.array(f"{theirs}/ffn/{linear}/bias", weights[f"{ours}.feed_forward.{name}.bias"])


def _add_self_attention(variables: Variables, weights: Weights, config: ModelConfig, ours: str, theirs: str) -> None:
    heads = _Heads(weights, config, f"{ours}.self_attention", range(config.n_heads))
    theirs += "/self_attention"
    _add_norm(variables, weights, f"{ours}.self_attention_residual.norm", f"{theirs}/layer_norm")
    _add_head_settings(variables, config, theirs)
    heads.add(variables, f"{theirs}/linear_0", "w_q", "w_k", "w_v")
    heads.add_output(variables, f"{theirs}/linear_1")
    if config.positions == "rotary":
        variables.number(f"{theirs}/rotary_dim", config.k_width, "int32")
        variables.number(f"{theirs}/rotary_interleave", 1)
        variables.number(f"{theirs}/rotary_base", config.rotary_base, "float32")


def _add_cross_attention(
    variables: Variables, weights: Weights, config: ModelConfig, ours: str, theirs: str, first: Sequence[int]
) -> None:
    """Put the alignment heads first: CTranslate2 returns the attention of the first heads. Their order is otherwise
    irrelevant."""
    order = [*first, *(head for head in range(config.n_heads) if head not in first)]
    heads = _Heads(weights, config, f"{ours}.cross_attention", order)
    theirs += "/attention"
    _add_norm(variables, weights, f"{ours}.cross_attention_residual.norm", f"{theirs}/layer_norm")
    _add_head_settings(variables, config, theirs)
    heads.add(variables, f"{theirs}/linear_0", "w_q")
    heads.add(variables, f"{theirs}/linear_1", "w_k", "w_v")
    heads.add_output(variables, f"{theirs}/linear_2")


def _add_head_settings(variables: Variables, config: ModelConfig, theirs: str) -> None:
    width = max(config.k_width, config.v_width)
    variables.number(f"{theirs}/queries_scale", 1 / math.sqrt(config.k_width), "float32")
    if width * config.n_heads != config.d_model:
        variables.number(f"{theirs}/head_dim", width, "int32")


@dataclass(frozen=True, eq=False)
class _Heads:
    """The projections of one attention. CTranslate2 has one width for queries, keys and values: narrower ones are
    padded with zeros, which do not change the result."""

    weights: Weights
    config: ModelConfig
    name: str
    order: Sequence[int]

    @property
    def width(self) -> int:
        return max(self.config.k_width, self.config.v_width)

    def add(self, variables: Variables, linear: str, *kinds: str) -> None:
        """Add projections into heads, stacked along the rows."""
        weight, bias, scale = (self.joined(kinds, part) for part in ("weight", "bias", "weight" + SCALE))
        assert weight is not None
        variables.matrix(linear, weight, scale)
        if bias is not None:
            variables.array(f"{linear}/bias", bias)

    def joined(self, kinds: Sequence[str], part: str) -> Array | None:
        """Concatenate a part of several projections; None if they do not have it."""
        names = [f"{self.name}.{kind}.{part}" for kind in kinds]
        # Rows of zeros have the scale 1.
        parts = [
            self.into_heads(self.weights[name], int(part.endswith(SCALE))) for name in names if name in self.weights
        ]
        return None if not parts else parts[0] if len(parts) == 1 else np.concatenate(parts)

    def into_heads(self, weight: Array, fill: int = 0) -> Array:
        """Reorder the rows of a matrix, or the entries of a vector, by head, and pad each head to the common width."""
        by_head = weight.reshape(self.config.n_heads, -1, *weight.shape[1:])
        missing = self.width - by_head.shape[1]
        if list(self.order) == sorted(self.order) and not missing:
            return weight
        padding = [(0, 0), (0, missing), *[(0, 0)] * (by_head.ndim - 2)]
        padded = np.pad(by_head[list(self.order)], padding, constant_values=fill)
        return padded.reshape(-1, *weight.shape[1:])

    def add_output(self, variables: Variables, linear: str) -> None:
        name = f"{self.name}.w_o"
        weight = np.ascontiguousarray(self.into_heads(self.weights[f"{name}.weight"].T).T)
        variables.matrix(linear, weight, self.weights.get(f"{name}.weight{SCALE}"))
        if self.config.attention_bias:
            variables.array(f"{linear}/bias", self.weights[f"{name}.bias"])
