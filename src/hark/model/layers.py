"""One layer of the encoder and of the decoder (paper, 3.1 and 3.3)."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.attention import MultiHeadAttention
from hark.model.patterns import Pattern
from hark.model.positions import Rotation

if TYPE_CHECKING:
    from hark.model.kernels.linear import Joined


class FeedForward(nn.Module):
    """`FFN(x) = max(0, x W_1 + b_1) W_2 + b_2`, at each position separately and identically (paper, 3.3).

    The same as two convolutions with kernel size 1; other weights in each layer. The width is d_model = 512 outside
    and d_ff = 2048 inside. GELU may stand in place of the maximum; SwiGLU (Shazeer, 2020) multiplies by a third
    projection.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.activation = config.activation
        self.w_1 = nn.Linear(config.d_model, config.d_ff)
        self.w_gate = nn.Linear(config.d_model, config.d_ff) if config.activation == "swiglu" else None
        self.w_2 = nn.Linear(config.d_ff, config.d_model)
        self.fused: tuple[Joined, Joined] | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.fused is not None:
            return self.forward_fused(*self.fused, x)
        match self.activation:
            case "relu":
                inner_F = F.relu(self.w_1(x))
            case "gelu":
                inner_F = F.gelu(self.w_1(x))
            case "swiglu":
                assert self.w_gate is not None
                inner_F = F.silu(self.w_gate(x)) * self.w_1(x)
        return self.w_2(inner_F)

    def fuse(self, dtype: torch.dtype) -> list[tuple[Tensor, Tensor]]:
        """As `MultiHeadAttention.fuse`. The gate of SwiGLU has no kernel."""
        from hark.model.kernels.linear import Joined

        self.fused = Joined(self.w_1, dtype=dtype), Joined(self.w_2, dtype=dtype)
        return [pair for joined in self.fused for pair in joined.pairs]

    def forward_fused(self, w_1: "Joined", w_2: "Joined", x: Tensor) -> Tensor:
        match self.activation:
            case "relu":
                return w_2(w_1(x, relu=True))
            case "gelu":
                return w_2(F.gelu(w_1(x)))
            case "swiglu":
                assert self.w_gate is not None
                return w_2(F.silu(self.w_gate(x)) * w_1(x))


class Fusible:
    """A module that has a kernel of ours and no copies of weights to keep."""

    fused = False

    def fuse(self, _: torch.dtype) -> list[tuple[Tensor, Tensor]]:
        """As `MultiHeadAttention.fuse`."""
        self.fused = True
        return []


class Residual(Fusible, nn.Module):
    """A residual connection around a sub-layer, then layer norm: `LayerNorm(x + Sublayer(x))` (paper, 3.1).

    For the sum to be possible, every sub-layer and the embeddings give outputs of width d_model. Dropout is applied to
    the sub-layer's output before it is added and normalised (5.4). Pre-norm, `x + Dropout(Sublayer(LayerNorm(x)))`,
    is an option.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.pre_norm = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.fused:
            return self.forward_fused(x, sublayer, self.dropout.p if self.training else 0.0)
        if self.pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))

    def forward_fused(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], p: float) -> Tensor:
        from hark.model.kernels.norm import add_dropped, add_norm, norm_beside

        if self.pre_norm:
            x, normed = norm_beside(x, self.norm)
            return add_dropped(x, sublayer(normed), p)
        return add_norm(x, sublayer(x), self.norm, p)


class FinalNorm(Fusible, nn.LayerNorm):
    """Pre-norm layers leave their sum unnormalised, so that a stack of them ends with a norm of its own."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.fused:
            return super().forward(x)
        from hark.model.kernels.norm import norm_beside

        return norm_beside(x, self)[1]


class EncoderLayer(nn.Module):
    """Two sub-layers: multi-head self-attention, then the position-wise feed-forward network (paper, 3.1)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, pattern: Pattern, rotation: Rotation | None) -> Tensor:
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, pattern, rotation=rotation))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Between the two sub-layers of an encoder layer a third: multi-head attention over the encoder's output, the
    memory (paper, 3.1). Its self-attention has a causal pattern."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.self_attention_residual = Residual(config)
        self.cross_attention = MultiHeadAttention(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, memory: Tensor, pattern: Pattern, cross: Pattern, rotation: Rotation | None) -> Tensor:
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, pattern, rotation=rotation))
        x = self.cross_attention_residual(x, lambda x: self.cross_attention(x, cross, memory=memory))
        return self.feed_forward_residual(x, self.feed_forward)
