"""A layer: sub-layers with residual connections around them (paper, 3.1 and 3.3)."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from hark.facts import LabelsOf
from hark.model.attention import Memory, MultiHeadAttention
from hark.model.backends import PLAIN, Backend, Norm, Stream
from hark.model.patterns import Attend
from hark.model.positions import Rotation
from hark.model.spec import StackSpec, Sublayer


def build_norm(spec: StackSpec) -> Norm:
    match spec.norm_kind:
        case "layer":
            return nn.LayerNorm(spec.d_model, eps=spec.norm_eps)
        case "rms":
            return nn.RMSNorm(spec.d_model, eps=spec.norm_eps)


class FeedForward(nn.Module):
    """`FFN(x) = max(0, x W_1 + b_1) W_2 + b_2`, at each position separately and identically (paper, 3.3).

    Equivalent to two convolutions with kernel size 1, with different weights in each layer. The width is d_model = 512
    outside and d_ff = 2048 inside. GELU or swish can replace the maximum; SwiGLU and GEGLU (Shazeer, 2020) multiply
    by a third projection.
    """

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        self.activation = spec.activation
        bias, gated = spec.feed_forward_bias, spec.activation in ("swiglu", "geglu")
        self.w_1 = nn.Linear(spec.d_model, spec.d_ff, bias=bias)
        self.w_gate = nn.Linear(spec.d_model, spec.d_ff, bias=bias) if gated else None
        self.w_2 = nn.Linear(spec.d_ff, spec.d_model, bias=bias)

    @property
    def projections(self) -> tuple[tuple[nn.Linear, ...], ...]:
        return (self.w_1,) if self.w_gate is None else (self.w_gate, self.w_1), (self.w_2,)

    def forward(self, x: Tensor, backend: Backend = PLAIN) -> Tensor:
        (inner_F,) = backend.project(x, *self.projections[0], activation=self.activation)
        (out,) = backend.project(inner_F, self.w_2)
        return out


class PredictionLayer(nn.Module):
    """A dense layer with the activation of the feed-forward network and a norm, between the last layer and the output
    projection, as in BERT."""

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        self.activation = spec.activation
        self.dense = nn.Linear(spec.d_model, spec.d_model)
        self.norm = build_norm(spec)

    @property
    def projections(self) -> tuple[tuple[nn.Linear, ...], ...]:
        return ((self.dense,),)

    def forward(self, x: Tensor, backend: Backend = PLAIN) -> Tensor:
        (inner,) = backend.project(x, self.dense, activation=self.activation)
        return backend.norm(inner, self.norm)[1]


class LabelLayer(nn.Module):
    """What precedes the projection to labels: dropout and, for the label of a text, a dense layer with tanh, as in BERT
    (Devlin et al., 2019) and RoBERTa."""

    def __init__(self, spec: StackSpec, of: LabelsOf) -> None:
        super().__init__()
        self.dense = nn.Linear(spec.d_model, spec.d_model) if of == "text" else None
        self.dropout = nn.Dropout(spec.dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.dropout(x)
        return x if self.dense is None else self.dropout(self.dense(x).tanh())


class Residual(nn.Module):
    """A residual connection around a sub-layer, then layer norm: `LayerNorm(x + Sublayer(x))` (paper, 3.1).

    For the sum, every sub-layer and the embeddings produce outputs of width d_model. Dropout is applied to the output
    of the sub-layer before it is added and normalised (5.4). Pre-norm, `x + Dropout(Sublayer(LayerNorm(x)))`,
    is an option.
    """

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        self.norm = build_norm(spec)
        self.dropout = nn.Dropout(spec.dropout)
        self.pre_norm = spec.norm == "pre"

    def forward(self, x: Stream, sublayer: Callable[[Tensor], Tensor], backend: Backend = PLAIN) -> Stream:
        if self.pre_norm:
            x, normed = backend.norm(x, self.norm)
            return backend.add(x, sublayer(normed), self.dropout)
        return backend.add_norm(x, sublayer(x), self.norm, self.dropout)


class Layer(nn.Module):
    """The sub-layers of a specification in order, each with its residual connection."""

    self_attention: MultiHeadAttention
    cross_attention: MultiHeadAttention
    feed_forward: FeedForward

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        self.sublayers = spec.sublayers
        for name in spec.sublayers:
            self.add_module(name, build_sublayer(name, spec))
            self.add_module(f"{name}_residual", Residual(spec))

    def forward(
        self,
        x: Stream,
        pattern: Attend,
        memory: Memory | None = None,
        cross: Attend | None = None,
        rotation: Rotation | None = None,
        backend: Backend = PLAIN,
    ) -> Stream:
        for name in self.sublayers:
            sublayer: Callable[[Tensor], Tensor]
            match name:
                case "self_attention":
                    sublayer = partial(self.self_attention, pattern=pattern, rotation=rotation, backend=backend)
                case "cross_attention":
                    sublayer = partial(self.cross_attention, pattern=cross, memory=memory, backend=backend)
                case "feed_forward":
                    sublayer = partial(self.feed_forward, backend=backend)
            x = getattr(self, f"{name}_residual")(x, sublayer, backend)
        return x


def build_sublayer(name: Sublayer, spec: StackSpec) -> nn.Module:
    match name:
        case "self_attention":
            return MultiHeadAttention(spec)
        case "cross_attention":
            return MultiHeadAttention(spec, cross=True)
        case "feed_forward":
            return FeedForward(spec)
