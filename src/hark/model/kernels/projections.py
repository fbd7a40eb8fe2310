"""Attention's projections, made for our kernels."""

import torch
from torch import Tensor

from hark.model.attention import MultiHeadAttention
from hark.model.kernels.linear import Joined
from hark.model.patterns import Pattern
from hark.model.positions import Rotation


class FusedAttention:
    """`MultiHeadAttention` with projections of one input side by side: one wide matrix product is faster than several
    narrow ones, and our kernels take its result as it lies."""

    def __init__(self, attention: MultiHeadAttention, dtype: torch.dtype) -> None:
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
