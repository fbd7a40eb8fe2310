"""Attention: projections into heads and back (paper, 3.2). Who sees whom is the pattern's business."""

import torch
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.patterns import Pattern
from hark.model.positions import Rotation


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


class FusedAttention:
    """The same with projections of one input side by side: one wide matrix product is faster than several narrow ones,
    and our kernels take its result as it lies."""

    def __init__(self, attention: MultiHeadAttention, dtype: torch.dtype) -> None:
        from hark.model.kernels.linear import Joined

        self.width = attention.k_width
        self.qkv = Joined(attention.w_q, attention.w_k, attention.w_v, dtype=dtype)
        self.q, self.kv = self.qkv.part(0, 1), self.qkv.part(1, 3)
        self.o = Joined(attention.w_o, dtype=dtype)

    def __call__(self, x: Tensor, pattern: Pattern, memory: Tensor | None, rotation: Rotation | None) -> Tensor:
        if memory is not None:
            kv = self.kv(memory).unflatten(-1, (2, -1, self.width))
            return self.o(pattern.apart(self.q(x).unflatten(-1, (-1, self.width)), kv).flatten(-2))
        qkv = self.qkv(x).unflatten(-1, (3, -1, self.width))
        if rotation is not None:
            q, k, v = qkv.unbind(-3)
            qkv = torch.stack((rotation(q), rotation(k), v), dim=-3)
        return self.o(pattern.joint(qkv).flatten(-2))
