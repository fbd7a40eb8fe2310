"""A bundle as two ONNX graphs, written operation by operation with numpy: the encoder, and the decoder with a cache.

The encoder returns the keys and values of the decoder's cross-attention. The decoder takes the next tokens of each row,
those keys and values, and the keys and values of earlier tokens; it returns logits and the longer cache.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import hark
from hark.config import ModelConfig
from hark.weights import SCALE, Weights, sinusoids

OPSET = 17
"""The first version with LayerNormalization; onnxruntime has it since 1.12 (2022)."""
IR_VERSION = 8
MASKED = -1e9
"""Added to the scores of keys that a query must not see."""


class Graph:
    """An ONNX graph under construction. Methods add operations and return the names of their results."""

    def __init__(self, weights: Weights, config: ModelConfig) -> None:
        self.weights, self.config = weights, config
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add an operation with one result."""
        result = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def constant(self, value: Any, dtype: Any = np.float32, name: str = "") -> str:
        array = np.asarray(value, dtype)
        name = name or f"constant_{array.dtype.name}_{array.tolist()}"
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def numbers(self, *values: int) -> str:
        return self.constant(values, np.int64)

    def input(self, name: str, kind: int, shape: Sequence[str | int]) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: str, name: str, shape: Sequence[str | int]) -> None:
        self.add("Identity", value, name=name)
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def build(self, name: str) -> Any:
        """The finished, checked model."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, list(self.constants.values()))
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="hark",
            producer_version=hark.__version__,
        )
        onnx.checker.check_model(model)
        return model

    def matrix(self, name: str, transpose: bool) -> str:
        """A weight matrix in float32. If stored in int8, it is divided by its scales, once, when a runtime loads it."""
        key = f"{name}.transposed" if transpose else name
        stored, scale = self.weights[name], self.weights.get(name + SCALE)
        constant = self.constant(stored.T if transpose else stored, stored.dtype, key)
        if scale is None:
            return constant
        restored = f"{key}.restored"
        if all(restored not in node.output for node in self.nodes):
            scales = self.constant(scale[None] if transpose else scale[:, None], name=f"{key}{SCALE}")
            whole = self.add("Cast", constant, to=TensorProto.FLOAT)
            self.add("Div", whole, scales, name=restored)
        return restored

    def linear(self, x: str, name: str) -> str:
        product = self.add("MatMul", x, self.matrix(f"{name}.weight", transpose=True))
        if f"{name}.bias" not in self.weights:
            return product
        return self.add("Add", product, self.constant(self.weights[f"{name}.bias"], name=f"{name}.bias"))

    def norm(self, x: str, name: str) -> str:
        parts = (self.constant(self.weights[f"{name}.{part}"], name=f"{name}.{part}") for part in ("weight", "bias"))
        return self.add("LayerNormalization", x, *parts, axis=-1, epsilon=self.config.norm_eps)

    def embed(self, tokens: str, embedding: str, positions: str, first: str | None) -> str:
        """Embeddings and positions; `first` is the position of the first token, 0 by default."""
        rows = self.add(
            "Gather", self.constant(self.weights[embedding], self.weights[embedding].dtype, embedding), tokens
        )
        if (scale := self.weights.get(embedding + SCALE)) is not None:
            scales = self.add("Gather", self.constant(scale[:, None], name=f"{embedding}{SCALE}.rows"), tokens)
            rows = self.add("Div", self.add("Cast", rows, to=TensorProto.FLOAT), scales)
        scale_up = math.sqrt(self.config.d_model) if self.config.scale_embedding else 1.0
        x = self.add("Mul", rows, self.constant(scale_up))
        norm = positions.replace("_positions.weight", "_norm") if self.config.embedding_norm else ""
        match self.config.positions:
            case "sinusoidal" | "sinusoidal_halves" | "sinusoidal_t2t":
                table = sinusoids(self.config)
            case "learned":
                table = self.weights[positions]
            case _:
                return self.norm(x, norm) if norm else x
        length = self.size(tokens, 1)
        start = first or self.numbers(0)
        rows = self.add(
            "Slice", self.constant(table, name="positions"), start, self.add("Add", start, length), self.numbers(0)
        )
        x = self.add("Add", x, rows)
        return self.norm(x, norm) if norm else x

    def size(self, x: str, axis: int) -> str:
        """The size of an axis, as a vector with one element."""
        return self.add("Gather", self.add("Shape", x), self.numbers(axis))

    def split(self, x: str, width: int) -> str:
        """(B, T, H * K) to (B, H, T, K)."""
        shape = self.numbers(0, 0, self.config.n_heads, width)
        return self.add("Transpose", self.add("Reshape", x, shape), perm=[0, 2, 1, 3])

    def keys_values(self, x: str, name: str) -> tuple[str, str]:
        keys, values = self.linear(x, f"{name}.w_k"), self.linear(x, f"{name}.w_v")
        return self.split(keys, self.config.k_width), self.split(values, self.config.v_width)

    def attend(self, x: str, keys: str, values: str, bias: str, name: str) -> str:
        """Equation 1 of the paper for all heads, and the projection back."""
        queries = self.split(self.linear(x, f"{name}.w_q"), self.config.k_width)
        queries = self.add("Mul", queries, self.constant(1 / math.sqrt(self.config.k_width)))
        scores = self.add("MatMul", queries, self.add("Transpose", keys, perm=[0, 1, 3, 2]))
        weights = self.add("Softmax", self.add("Add", scores, bias), axis=-1)
        heads = self.add("Transpose", self.add("MatMul", weights, values), perm=[0, 2, 1, 3])
        return self.linear(self.add("Reshape", heads, self.numbers(0, 0, -1)), f"{name}.w_o")

    def feed_forward(self, x: str, name: str) -> str:
        inner = self.linear(x, f"{name}.w_1")
        match self.config.activation:
            case "relu":
                inner = self.add("Relu", inner)
            case "gelu":
                erf = self.add("Erf", self.add("Mul", inner, self.constant(1 / math.sqrt(2))))
                half = self.add("Mul", inner, self.constant(0.5))
                inner = self.add("Mul", half, self.add("Add", erf, self.constant(1)))
            case "swish":
                inner = self.add("Mul", inner, self.add("Sigmoid", inner))
            case "swiglu":
                gate = self.linear(x, f"{name}.w_gate")
                inner = self.add("Mul", inner, self.add("Mul", gate, self.add("Sigmoid", gate)))
        return self.linear(inner, f"{name}.w_2")

    def sub_layer(self, x: str, name: str, compute: Callable[[str, str], str]) -> str:
        """A sub-layer with its norm and the residual connection around it."""
        norm, is_pre = f"{name}_residual.norm", self.config.norm == "pre"
        total = self.add("Add", x, compute(self.norm(x, norm) if is_pre else x, name))
        return total if is_pre else self.norm(total, norm)

    def last_norm(self, x: str, stack: str) -> str:
        return self.norm(x, f"{stack}.norm") if self.config.norm == "pre" else x

    def source_bias(self) -> str:
        """0 for tokens and `MASKED` for padding, shaped like the scores (B, 1, 1, S)."""
        mask = self.input("mask", TensorProto.INT64, ["sentences", "source"])
        padding = self.add("Sub", self.constant(1), self.add("Cast", mask, to=TensorProto.FLOAT))
        return self.add("Unsqueeze", self.add("Mul", padding, self.constant(MASKED)), self.numbers(1, 2))

    def causal_bias(self, tokens: str, past: str) -> str:
        """`MASKED` for keys after a query, shaped (T, P + T)."""
        scalar = self.constant(0, np.int64)
        start, length = (self.add("Gather", each, scalar) for each in (past, self.size(tokens, 1)))
        end, one = self.add("Add", start, length), self.constant(1, np.int64)
        rows = self.add("Unsqueeze", self.add("Range", start, end, one), self.numbers(1))
        later = self.add("Greater", self.add("Range", scalar, end, one), rows)
        return self.add("Mul", self.add("Cast", later, to=TensorProto.FLOAT), self.constant(MASKED))


def encoder_graph(weights: Weights, config: ModelConfig) -> Any:
    """Tokens and their mask in; keys and values of each layer's cross-attention out."""
    graph = Graph(weights, config)
    tokens = graph.input("tokens", TensorProto.INT64, ["sentences", "source"])
    bias = graph.source_bias()
    embedding = "source_embedding.weight" if config.separate_source else "embedding.weight"
    x = graph.embed(tokens, embedding, "source_positions.weight", None)

    def attend(x: str, name: str) -> str:
        return graph.attend(x, *graph.keys_values(x, name), bias, name)

    for i in range(config.n_encoder_layers):
        x = graph.sub_layer(x, f"encoder.layers.{i}.self_attention", attend)
        x = graph.sub_layer(x, f"encoder.layers.{i}.feed_forward", graph.feed_forward)
    memory = graph.last_norm(x, "encoder")
    for i in range(config.n_decoder_layers):
        keys, values = graph.keys_values(memory, f"decoder.layers.{i}.cross_attention")
        graph.output(keys, f"cross_key_{i}", ["sentences", config.n_heads, "source", config.k_width])
        graph.output(values, f"cross_value_{i}", ["sentences", config.n_heads, "source", config.v_width])
    return graph.build("encoder")


def decoder_graph(weights: Weights, config: ModelConfig) -> Any:
    """The next tokens of each row in, with the cache and the encoder's output; logits and the longer cache out.

    There may be as many rows as sentences, or several rows of a single sentence, as in a beam search.
    """
    graph = Graph(weights, config)
    tokens = graph.input("tokens", TensorProto.INT64, ["rows", "tokens"])
    source_bias = graph.source_bias()
    heads, widths = config.n_heads, {"key": config.k_width, "value": config.v_width}
    layers = range(config.n_decoder_layers)
    for group, rows, length in (("cross", "sentences", "source"), ("past", "rows", "past")):
        for i in layers:
            for part, width in widths.items():
                graph.input(f"{group}_{part}_{i}", TensorProto.FLOAT, [rows, heads, length, width])
    start = graph.size("past_key_0", 2)
    causal_bias = graph.causal_bias(tokens, start)
    x = graph.embed(tokens, "embedding.weight", "target_positions.weight", start)
    cache: list[tuple[str, str]] = []

    def attend_self(x: str, name: str) -> str:
        layer, new = len(cache), graph.keys_values(x, name)
        keys, values = (
            graph.add("Concat", f"past_{part}_{layer}", own, axis=2) for part, own in zip(widths, new, strict=True)
        )
        cache.append((keys, values))
        return graph.attend(x, keys, values, causal_bias, name)

    def attend_source(x: str, name: str) -> str:
        layer = len(cache) - 1
        return graph.attend(x, f"cross_key_{layer}", f"cross_value_{layer}", source_bias, name)

    for i in layers:
        x = graph.sub_layer(x, f"decoder.layers.{i}.self_attention", attend_self)
        x = graph.sub_layer(x, f"decoder.layers.{i}.cross_attention", attend_source)
        x = graph.sub_layer(x, f"decoder.layers.{i}.feed_forward", graph.feed_forward)
    x = graph.last_norm(x, "decoder")
    if config.separate_output:
        projection = graph.matrix("projection.weight", transpose=True)
    else:  # the embedding's matrix is stored once, so it is transposed on loading
        projection = graph.add("Transpose", graph.matrix("embedding.weight", transpose=False), perm=[1, 0])
    logits = graph.add("MatMul", x, projection)
    if config.output_bias:
        logits = graph.add("Add", logits, graph.constant(weights["output_bias"], name="output_bias"))
    graph.output(logits, "logits", ["rows", "tokens", config.vocab_size])
    for i, pair in enumerate(cache):
        for (part, width), value in zip(widths.items(), pair, strict=True):
            graph.output(value, f"{part}_{i}", ["rows", heads, "past + tokens", width])
    return graph.build("decoder")
