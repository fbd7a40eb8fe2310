"""Specifications of stacks of layers. Encoders, decoders and language models differ only in these values."""

from dataclasses import dataclass, replace
from typing import Literal

from hark.config import Activation, ModelConfig, Norm, NormKind, Positions

Sublayer = Literal["self_attention", "cross_attention", "feed_forward"]


@dataclass(frozen=True)
class StackSpec:
    """A stack of identical layers. The defaults are the encoder of the paper's base model."""

    sublayers: tuple[Sublayer, ...] = ("self_attention", "feed_forward")
    """The sub-layers of each layer, in order; each has a residual connection around it (paper, 3.1)."""
    causal: bool = False
    """Whether a position attends only to itself and earlier ones. Enforced by the attention patterns."""
    n_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    n_heads: int = 8
    n_kv_heads: int | None = None
    """Heads of keys and values, each for several heads of queries (Ainslie et al., 2023); None: one for each."""
    k_width: int = 64
    v_width: int = 64
    attention_bias: bool = True
    feed_forward_bias: bool = True
    dropout: float = 0.1
    norm: Norm = "post"
    norm_kind: NormKind = "layer"
    norm_eps: float = 1e-5
    activation: Activation = "relu"
    positions: Positions = "sinusoidal"
    rotary_base: float = 10_000.0
    relative_buckets: int = 32
    relative_distance: int = 128
    max_positions: int = 2048
    position_offset: int = 0

    def __post_init__(self) -> None:
        if len(set(self.sublayers)) < len(self.sublayers):
            raise ValueError(f"sub-layers must be distinct, because weights are named after them: {self.sublayers}")


def stacks_of(config: ModelConfig) -> dict[str, StackSpec]:
    """The stacks of a model: the paper's two (3.1), or one of them.

    An encoder layer has two sub-layers: multi-head self-attention, then the position-wise feed-forward network. A
    decoder layer has a third between them: multi-head attention over the encoder's output, the memory. Its
    self-attention is causal, which, together with inputs that are shifted by one position, lets the prediction for
    position i depend only on the known outputs before i. Alone, a decoder has no memory to attend to (GPT), and an
    encoder sees both sides of what it predicts (BERT).
    """
    c = config
    both = StackSpec(
        d_model=c.d_model, d_ff=c.d_ff, n_heads=c.n_heads, n_kv_heads=c.n_kv_heads, k_width=c.k_width,
        v_width=c.v_width, attention_bias=c.attention_bias, feed_forward_bias=c.feed_forward_bias, dropout=c.dropout,
        norm=c.norm,
        norm_kind=c.norm_kind, norm_eps=c.norm_eps, activation=c.activation, positions=c.positions,
        rotary_base=c.rotary_base, relative_buckets=c.relative_buckets, relative_distance=c.relative_distance,
        max_positions=c.max_positions, position_offset=c.position_offset,
    )  # fmt: skip
    encoder, decoder = (
        replace(both, n_layers=c.n_encoder_layers),
        replace(both, n_layers=c.n_decoder_layers, causal=True),
    )
    match c.shape:
        case "encoder-decoder":
            three: tuple[Sublayer, ...] = ("self_attention", "cross_attention", "feed_forward")
            return {"encoder": encoder, "decoder": replace(decoder, sublayers=three)}
        case "decoder":
            return {"decoder": decoder}
        case "encoder":
            return {"encoder": encoder}
