"""Attention: projections into heads and back (paper, 3.2). Who sees whom is the pattern's business."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.patterns import Pattern
from hark.model.positions import Rotation

if TYPE_CHECKING:
    from hark.model.kernels.projections import FusedAttention


class MultiHeadAttention(nn.Module):
    """`MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O` with `head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)`
    (paper, 3.2.2).

    Several heads let the model attend to different parts at different positions, where one would average them away.
    With h = 8 heads of width d_k = d_v = d_model / h = 64 they cost about as much as one head of full width. The h
    matrices W_i of a kind are one matrix here, and a head is a slice of its output.

    The projections look at the last axis only, so the same lines serve padded (B, T, D) and packed (N, D) input.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d_model, bias = config.d_model, config.attention_bias
        self.k_width, self.v_width = config.k_width, config.v_width
        self.w_q = nn.Linear(d_model, config.n_heads * self.k_width, bias=bias)
        self.w_k = nn.Linear(d_model, config.n_heads * self.k_width, bias=bias)
        self.w_v = nn.Linear(d_model, config.n_heads * self.v_width, bias=bias)
        self.w_o = nn.Linear(config.n_heads * self.v_width, d_model, bias=bias)
        self.fused: FusedAttention | None = None

    def fuse(self, dtype: torch.dtype) -> list[tuple[Tensor, Tensor]]:
        """Use our own kernels from now on; the weights, and the 16-bit copies of them that must be kept up to date."""
        from hark.model.kernels.projections import FusedAttention

        self.fused = FusedAttention(self, dtype)
        return [*self.fused.qkv.pairs, *self.fused.o.pairs]

    def queries(self, x: Tensor) -> Tensor:
        return self.w_q(x).unflatten(-1, (-1, self.k_width))

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.w_k(x).unflatten(-1, (-1, self.k_width)), self.w_v(x).unflatten(-1, (-1, self.v_width))

    def forward(
        self, x: Tensor, pattern: Pattern, memory: Tensor | None = None, rotation: Rotation | None = None
    ) -> Tensor:
        """The paper's three uses (3.2.3): self-attention in the encoder; the same in the decoder, where the pattern
        hides what comes later; and queries of the decoder over the encoder's output, `memory`."""
        if self.fused is not None:
            return self.fused(x, pattern, memory, rotation)
        q = self.queries(x)
        k, v = self.keys_values(x if memory is None else memory)
        if rotation is not None:
            q, k = rotation(q), rotation(k)
        return self.w_o(pattern(q, k, v).flatten(-2))
