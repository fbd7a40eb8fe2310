"""A reference model: the paper's formulas in numpy and float64, written independently of `hark.model`.

One sentence pair at a time, with sinusoidal positions and ReLU; heads can be removed by zeroing their outputs, and
source positions hidden by masking.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hark.inspect.attention import Head
from hark.model import Transformer

Array = NDArray[np.float64]


@dataclass
class Reference:
    """A model's weights, and the attention of its last run: a list of (H, T, S) by kind."""

    model: Transformer
    silenced: Collection[Head] = ()
    hidden: Collection[int] = ()
    weights: dict[str, list[Array]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.config = self.model.config
        self.values = {name: each.detach().double().numpy() for name, each in self.model.named_parameters()}

    def linear(self, name: str, x: Array) -> Array:
        y = x @ self.values[f"{name}.weight"].T
        return y + self.values[f"{name}.bias"] if f"{name}.bias" in self.values else y

    def norm(self, name: str, x: Array) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return centred / scale * self.values[f"{name}.weight"] + self.values[f"{name}.bias"]

    def embed(self, tokens: Sequence[int]) -> Array:
        width = self.config.d_model
        x = self.values["embedding.weight"][list(tokens)] * math.sqrt(width)
        for position in range(len(tokens)):
            for i in range(0, width, 2):
                angle = position / 10000 ** (i / width)
                x[position, i] += math.sin(angle)
                x[position, i + 1] += math.cos(angle)
        return x

    def attend(self, name: str, head_of: tuple[str, int], x: Array, memory: Array, visible: NDArray[np.bool_]) -> Array:
        """MultiHead(Q, K, V), one head at a time."""
        kind, layer = head_of
        q, k, v = self.linear(f"{name}.w_q", x), self.linear(f"{name}.w_k", memory), self.linear(f"{name}.w_v", memory)
        width_k, width_v = self.config.k_width, self.config.v_width
        outputs, weights = [], []
        for number in range(self.config.n_heads):
            k_slice, v_slice = (slice(number * width, (number + 1) * width) for width in (width_k, width_v))
            scores = np.where(visible, q[:, k_slice] @ k[:, k_slice].T / math.sqrt(width_k), -np.inf)
            exponentials = np.exp(scores - scores.max(-1, keepdims=True))
            weights.append(exponentials / exponentials.sum(-1, keepdims=True))
            output = weights[-1] @ v[:, v_slice]
            outputs.append(output * 0 if Head(kind, layer, number) in self.silenced else output)  # type: ignore[arg-type]
        self.weights.setdefault(kind, []).append(np.stack(weights))
        return self.linear(f"{name}.w_o", np.concatenate(outputs, axis=-1))

    def sublayer(self, name: str, x: Array, compute) -> Array:  # type: ignore[no-untyped-def]
        if self.config.norm == "pre":
            return x + compute(self.norm(f"{name}.norm", x))
        return self.norm(f"{name}.norm", x + compute(x))

    def feed_forward(self, layer: str, x: Array) -> Array:
        inner = np.maximum(self.linear(f"{layer}.feed_forward.w_1", x), 0)
        return self.linear(f"{layer}.feed_forward.w_2", inner)

    def run(self, source: Sequence[int], target: Sequence[int]) -> Array:
        """Log-probabilities of the next token after each token of the target, (T, V)."""
        self.weights = {}
        keys = np.array([position not in self.hidden for position in range(len(source))])
        x = self.embed(source)
        for number in range(self.config.n_encoder_layers):
            layer = f"encoder.layers.{number}"
            look = lambda y, layer=layer, number=number: self.attend(  # noqa: E731
                f"{layer}.self_attention", ("encoder", number), y, y, np.broadcast_to(keys, (len(y), len(y)))
            )
            x = self.sublayer(f"{layer}.self_attention_residual", x, look)
            x = self.sublayer(f"{layer}.feed_forward_residual", x, lambda y, layer=layer: self.feed_forward(layer, y))
        memory = self.norm("encoder.norm", x) if self.config.norm == "pre" else x
        x = self.embed(target)
        causal = np.tril(np.ones((len(target), len(target)), bool))
        for number in range(self.config.n_decoder_layers):
            layer = f"decoder.layers.{number}"
            look = lambda y, layer=layer, number=number: self.attend(  # noqa: E731
                f"{layer}.self_attention", ("decoder", number), y, y, causal
            )
            across = lambda y, layer=layer, number=number: self.attend(  # noqa: E731
                f"{layer}.cross_attention", ("cross", number), y, memory, np.broadcast_to(keys, (len(y), len(keys)))
            )
            x = self.sublayer(f"{layer}.self_attention_residual", x, look)
            x = self.sublayer(f"{layer}.cross_attention_residual", x, across)
            x = self.sublayer(f"{layer}.feed_forward_residual", x, lambda y, layer=layer: self.feed_forward(layer, y))
        hidden = self.norm("decoder.norm", x) if self.config.norm == "pre" else x
        logits = hidden @ self.values["embedding.weight"].T
        logits -= logits.max(-1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))  # type: ignore[no-any-return]
