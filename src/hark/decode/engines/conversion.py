"""A bundle's weights as a CTranslate2 model, in memory: numpy alone, so that translating needs no torch.

CTranslate2's own converter imports torch wherever it is installed, which takes longer than loading and translating. Its
model file is a plain list of named arrays, so it is written here directly. Tokens are called by their numbers: "17".
"""

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hark.config import ModelConfig
from hark.errors import UserError

Array = NDArray[Any]
Weights = Mapping[str, Array]
Heads = tuple[int, Sequence[int]]
"""A decoder layer, from 0, and heads of its cross-attention."""

BINARY_VERSION, SPEC, REVISION = 6, "TransformerSpec", 7
TYPES = {np.dtype(name): number for number, name in enumerate(("float32", "int8", "int16", "int32", "float16"))}
ACTIVATIONS = {"relu": 0, "gelu": 3, "swiglu": 2}
PAD, UNK, BOS, EOS = "0", "1", "2", "3"
NEVER = (PAD, UNK, BOS)
"""Tokens that are never produced."""
NORM_EPSILON = 1e-5
"""PyTorch's, which the model was trained with."""
BLOCK_ELEMENTS = 1 << 17
"""Elements that are quantised at a time: few enough to stay in a core's cache between the passes over them."""
STORED = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def default_alignment(config: ModelConfig) -> Heads:
    """All heads of the last layer but one, where alignment is best found (Garg et al., 2019)."""
    return max(0, config.n_decoder_layers - 2), range(config.n_heads)


def read_weights(path: Path) -> dict[str, Array]:
    """The arrays of a safetensors file, mapped and not read: they are looked at once, when they are converted.

    The file is an eight-byte length, a JSON header and the arrays. It is read here because numpy, and with it
    safetensors' reader for numpy, has no bfloat16.
    """
    try:
        raw = np.memmap(path, mode="r")
        start = 8 + struct.unpack("<Q", raw[:8].tobytes())[0]
        header = json.loads(raw[8:start].tobytes())
        header.pop("__metadata__", None)
        return {name: _read_array(raw[start:], **entry) for name, entry in header.items()}
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise UserError(f"{path}: cannot be read as weights: {error}") from None


def _read_array(raw: Array, dtype: str, shape: list[int], data_offsets: tuple[int, int]) -> Array:
    array = raw[slice(*data_offsets)].view(STORED[dtype]).reshape(shape)
    match dtype:
        case "F32":
            return array
        case "BF16":  # the upper half of a float32
            return (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float32)


def convert(
    weights: Weights, config: ModelConfig, int8: bool = True, alignment: Heads | None = None
) -> dict[str, bytes]:
    """The files of a CTranslate2 model, by name, for its `Translator(files=...)`.

    With `int8` the matrices are quantised here, on all cores, a row at a time with its largest weight as 127: what
    CTranslate2 would do while loading, but in less time and without a second copy in float32.
    """
    variables = _Variables(int8)
    _add_encoder(variables, weights, config)
    _add_decoder(variables, weights, config, alignment or default_alignment(config))
    settings = {
        "unk_token": UNK,
        "bos_token": BOS,
        "eos_token": EOS,
        "decoder_start_token": BOS,
        "add_source_bos": False,
        "add_source_eos": False,
        "layer_norm_epsilon": NORM_EPSILON,
        "multi_query_attention": False,
    }
    files = {"config.json": json.dumps(settings).encode(), "model.bin": variables.write()}
    target = config.vocab_size
    source = config.source_vocab_size or target
    if source == target:
        return files | {"shared_vocabulary.json": _vocabulary(target)}
    return files | {"source_vocabulary.json": _vocabulary(source), "target_vocabulary.json": _vocabulary(target)}


def _vocabulary(size: int) -> bytes:
    return json.dumps([str(i) for i in range(size)]).encode()


@dataclass
class _Variables:
    """The named arrays of a CTranslate2 model, and how they are written."""

    int8: bool
    arrays: dict[str, Array] = field(default_factory=dict)
    matrices: dict[str, Array] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)

    def number(self, name: str, value: float, dtype: str = "int8") -> None:
        self.arrays[name] = np.array(value, dtype)

    def array(self, name: str, array: Array) -> None:
        self.arrays[name] = np.ascontiguousarray(array, np.float32)

    def matrix(self, name: str, matrix: Array) -> None:
        """One that products are made with, and that is therefore quantised."""
        self.matrices[name] = matrix

    def alias(self, name: str, other: str) -> None:
        """The same matrix under a second name: it exists once (paper, 3.4)."""
        self.aliases[f"{name}/weight"] = f"{other}/weight"
        if self.int8:
            self.aliases[f"{name}/weight_scale"] = f"{other}/weight_scale"

    def write(self) -> bytes:
        arrays = dict(self.arrays)
        if self.int8:
            for name, (matrix, scale) in zip(self.matrices, quantise(list(self.matrices.values())), strict=True):
                arrays[f"{name}/weight"], arrays[f"{name}/weight_scale"] = matrix, scale
        else:
            arrays |= {f"{name}/weight": np.ascontiguousarray(each) for name, each in self.matrices.items()}
        return b"".join(self._parts(arrays))

    def _parts(self, arrays: Mapping[str, Array]) -> Iterator[bytes | memoryview]:
        """Version, specification and its revision; the variables; the aliases."""
        yield struct.pack("=I", BINARY_VERSION) + _string(SPEC) + struct.pack("=II", REVISION, len(arrays))
        for name, array in arrays.items():
            shape = struct.pack(f"={array.ndim}I", *array.shape)
            size = struct.pack("=BI", TYPES[array.dtype], array.nbytes)
            yield _string(name) + struct.pack("=B", array.ndim) + shape + size
            yield array.reshape(-1).view(np.uint8).data
        yield struct.pack("=I", len(self.aliases))
        for name, other in self.aliases.items():
            yield _string(name) + _string(other)


def _string(text: str) -> bytes:
    return struct.pack("=H", len(text) + 1) + text.encode() + b"\0"


def quantise(matrices: Sequence[Array]) -> list[tuple[Array, Array]]:
    """Each matrix in int8, and the factor of each of its rows, by which it was multiplied."""
    results = [(np.empty(each.shape, np.int8), np.empty(len(each), np.float32)) for each in matrices]

    def fill(job: tuple[int, int, int]) -> None:
        which, first, last = job
        block = matrices[which][first:last]
        largest = np.maximum(block.max(axis=1), -block.min(axis=1))
        scale = np.divide(127, largest, out=np.full_like(largest, 1), where=largest > 0)
        results[which][1][first:last] = scale
        scaled = block * scale[:, None]
        np.rint(scaled, out=scaled)
        results[which][0][first:last] = scaled

    jobs = []
    for which, matrix in enumerate(matrices):
        rows = max(1, BLOCK_ELEMENTS // matrix.shape[1])
        jobs += [(which, first, first + rows) for first in range(0, len(matrix), rows)]
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(fill, jobs):
            pass
    return results


def _add_encoder(variables: _Variables, weights: Weights, config: ModelConfig) -> None:
    _add_stack(variables, weights, config, "encoder")
    variables.number("encoder/embeddings_merge", 0)
    variables.number("encoder/multi_query_attention", 0)
    source = "embedding" if config.tie == "all" else "source_embedding"
    variables.matrix("encoder/embeddings_0", weights[f"{source}.weight"])
    for i in range(config.n_encoder_layers):
        ours, theirs = f"encoder.layers.{i}", f"encoder/layer_{i}"
        _add_self_attention(variables, weights, config, ours, theirs)
        _add_feed_forward(variables, weights, ours, theirs)


def _add_decoder(variables: _Variables, weights: Weights, config: ModelConfig, alignment: Heads) -> None:
    layer, heads = alignment
    _add_stack(variables, weights, config, "decoder")
    variables.number("decoder/alignment_layer", layer, "int16")
    variables.number("decoder/alignment_heads", len(heads), "int16")
    if config.tie == "all":
        variables.alias("decoder/embeddings", "encoder/embeddings_0")
    else:
        variables.matrix("decoder/embeddings", weights["embedding.weight"])
    match config.tie:
        case "all":
            variables.alias("decoder/projection", "encoder/embeddings_0")
        case "target":
            variables.alias("decoder/projection", "decoder/embeddings")
        case "none":
            variables.matrix("decoder/projection", weights["projection.weight"])
    for i in range(config.n_decoder_layers):
        ours, theirs = f"decoder.layers.{i}", f"decoder/layer_{i}"
        _add_self_attention(variables, weights, config, ours, theirs)
        _add_cross_attention(variables, weights, config, ours, theirs, heads if i == layer else ())
        _add_feed_forward(variables, weights, ours, theirs)


def _add_stack(variables: _Variables, weights: Weights, config: ModelConfig, stack: str) -> None:
    variables.number(f"{stack}/num_heads", config.n_heads, "int16")
    variables.number(f"{stack}/pre_norm", config.norm == "pre")
    variables.number(f"{stack}/activation", ACTIVATIONS[config.activation])
    variables.number(f"{stack}/scale_embeddings", 1)
    if config.norm == "pre":
        _add_norm(variables, weights, f"{stack}.norm", f"{stack}/layer_norm")
    match config.positions:
        case "sinusoidal":
            # CTranslate2's own sinusoids stand in halves, all sines first, and count from 1.
            table = sinusoids(config.max_positions, config.d_model)
        case "learned":
            table = weights[f"{'source' if stack == 'encoder' else 'target'}_positions.weight"]
        case "none":
            table = np.zeros((config.max_positions, config.d_model), np.float32)
        case "rotary":
            return
    variables.array(f"{stack}/position_encodings/encodings", table)


def sinusoids(n_positions: int, d_model: int) -> Array:
    """As in `hark.model.positions`, by the same steps in float64, so that they are the same numbers."""
    angle = np.arange(n_positions)[:, None] / 10000 ** (np.arange(0, d_model, 2, dtype=np.float64) / d_model)
    return np.stack((np.sin(angle), np.cos(angle)), axis=-1).reshape(n_positions, d_model).astype(np.float32)


def _add_norm(variables: _Variables, weights: Weights, ours: str, theirs: str) -> None:
    variables.array(f"{theirs}/gamma", weights[f"{ours}.weight"])
    variables.array(f"{theirs}/beta", weights[f"{ours}.bias"])


def _add_feed_forward(variables: _Variables, weights: Weights, ours: str, theirs: str) -> None:
    _add_norm(variables, weights, f"{ours}.feed_forward_residual.norm", f"{theirs}/ffn/layer_norm")
    names = {"w_1": "linear_0", "w_2": "linear_1"}
    if f"{ours}.feed_forward.w_gate.weight" in weights:  # their activation stands in the first, ours at the gate
        names = {"w_gate": "linear_0", "w_1": "linear_0_noact", "w_2": "linear_1"}
    for name, linear in names.items():
        variables.matrix(f"{theirs}/ffn/{linear}", weights[f"{ours}.feed_forward.{name}.weight"])
        variables.array(f"{theirs}/ffn/{linear}/bias", weights[f"{ours}.feed_forward.{name}.bias"])


def _add_self_attention(variables: _Variables, weights: Weights, config: ModelConfig, ours: str, theirs: str) -> None:
    heads = _Heads(weights, config, f"{ours}.self_attention", range(config.n_heads))
    theirs += "/self_attention"
    _add_norm(variables, weights, f"{ours}.self_attention_residual.norm", f"{theirs}/layer_norm")
    _add_head_settings(variables, config, theirs)
    heads.add(variables, f"{theirs}/linear_0", "w_q", "w_k", "w_v")
    heads.add_output(variables, f"{theirs}/linear_1")
    if config.positions == "rotary":
        variables.number(f"{theirs}/rotary_dim", config.k_width, "int32")
        variables.number(f"{theirs}/rotary_interleave", 1)
        variables.number(f"{theirs}/rotary_base", 10000, "float32")


def _add_cross_attention(
    variables: _Variables, weights: Weights, config: ModelConfig, ours: str, theirs: str, first: Sequence[int]
) -> None:
    """CTranslate2 gives the attention of the first heads; an order of heads means nothing else."""
    order = [*first, *(head for head in range(config.n_heads) if head not in first)]
    heads = _Heads(weights, config, f"{ours}.cross_attention", order)
    theirs += "/attention"
    _add_norm(variables, weights, f"{ours}.cross_attention_residual.norm", f"{theirs}/layer_norm")
    _add_head_settings(variables, config, theirs)
    heads.add(variables, f"{theirs}/linear_0", "w_q")
    heads.add(variables, f"{theirs}/linear_1", "w_k", "w_v")
    heads.add_output(variables, f"{theirs}/linear_2")


def _add_head_settings(variables: _Variables, config: ModelConfig, theirs: str) -> None:
    width = max(config.k_width, config.v_width)
    variables.number(f"{theirs}/queries_scale", 1 / math.sqrt(config.k_width), "float32")
    if width * config.n_heads != config.d_model:
        variables.number(f"{theirs}/head_dim", width, "int32")


@dataclass(frozen=True, eq=False)
class _Heads:
    """The projections of one attention. CTranslate2 has one width for queries, keys and values: the narrower are padded
    with zeros, which change no product."""

    weights: Weights
    config: ModelConfig
    name: str
    order: Sequence[int]

    @property
    def width(self) -> int:
        return max(self.config.k_width, self.config.v_width)

    def add(self, variables: _Variables, linear: str, *kinds: str) -> None:
        """Projections into heads, one under the other."""
        parts = [self.into_heads(self.weights[f"{self.name}.{kind}.weight"]) for kind in kinds]
        variables.matrix(linear, parts[0] if len(parts) == 1 else np.concatenate(parts))
        if self.config.attention_bias:
            biases = [self.into_heads(self.weights[f"{self.name}.{kind}.bias"]) for kind in kinds]
            variables.array(f"{linear}/bias", np.concatenate(biases))

    def into_heads(self, weight: Array) -> Array:
        """Rows, or a bias: head after head, in the order wanted, each as wide as CTranslate2 has them."""
        by_head = weight.reshape(self.config.n_heads, -1, *weight.shape[1:])
        missing = self.width - by_head.shape[1]
        if list(self.order) == sorted(self.order) and not missing:
            return weight
        padding = [(0, 0), (0, missing), *[(0, 0)] * (by_head.ndim - 2)]
        return np.pad(by_head[list(self.order)], padding).reshape(-1, *weight.shape[1:])

    def add_output(self, variables: _Variables, linear: str) -> None:
        weight = self.weights[f"{self.name}.w_o.weight"]
        variables.matrix(linear, np.ascontiguousarray(self.into_heads(weight.T).T))
        if self.config.attention_bias:
            variables.array(f"{linear}/bias", self.weights[f"{self.name}.w_o.bias"])
