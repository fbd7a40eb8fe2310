"""The decoder a token at a time: keys and values of what was read before are kept, each at a place of its own.

One tensor of places holds the keys of every sentence's memory and of every hypothesis. Nothing in it ever moves. Which
places a row sees is told by tables of indices, so that reordering hypotheses, letting sentences in and retiring them
is a `select` of small integers, with the row as the first axis. The keys and values of a memory are projected once a
sentence, and the W hypotheses of a sentence share them.

Besides the package's legend: P places, T positions of the target so far, L layers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.attention import MultiHeadAttention
from hark.model.layers import DecoderLayer, Residual
from hark.model.patterns import scaled_dot_product_attention
from hark.model.positions import Rotation
from hark.model.transformer import Transformer

SPARE = 128
"""Places at the end that belong to nobody: rows without a sentence write there, and what must not be seen is read from
there, because it holds finite numbers always."""


@dataclass(frozen=True, eq=False)
class Kept:
    """Keys and values of one layer, by place."""

    keys_PHK: Tensor
    values_PHK: Tensor
    layer: int

    @property
    def nowhere(self) -> int:
        """The first of the spare places."""
        return len(self.keys_PHK) - SPARE

    def store(self, places_N: Tensor, k_NHK: Tensor, v_NHK: Tensor) -> None:
        """Several rows may write to one spare place at once; nobody reads a meaning from it."""
        self.keys_PHK.index_copy_(0, places_N, k_NHK)
        self.values_PHK.index_copy_(0, places_N, v_NHK)


@dataclass(frozen=True, eq=False)
class Cache:
    """Keys and values of every layer, by place."""

    keys_LPHK: Tensor
    values_LPHK: Tensor

    @classmethod
    def empty(cls, config: ModelConfig, places: int, device: torch.device | str, dtype: torch.dtype) -> Self:
        shape = (config.n_decoder_layers, places + SPARE, config.n_heads)
        keys, values = (
            torch.empty(*shape, width, device=device, dtype=dtype) for width in (config.k_width, config.v_width)
        )
        keys[:, places:] = values[:, places:] = 0
        return cls(keys, values)

    def layer(self, number: int) -> Kept:
        return Kept(self.keys_LPHK[number], self.values_LPHK[number], number)

    @property
    def nowhere(self) -> int:
        return self.layer(0).nowhere


@dataclass(frozen=True, eq=False)
class Rows:
    """What one step is about: W hypotheses of each of B sentences, hence R = B*W rows, at positions of their own."""

    tokens_R: Tensor
    positions_R: Tensor
    places_RT: Tensor
    """Where the keys of positions 0, 1, 2, ... of a row lie, up to and including the position of its token; what comes
    after that is not looked at."""
    memory_B: Tensor
    """The first place of each sentence's memory; the others follow."""
    memory_lengths_B: Tensor
    longest_memory: int
    """Bounds those lengths, and is known without asking the device."""


def history_attention(q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor, kept: Kept, rows: Rows) -> tuple[Tensor, Tensor]:
    """Keep each row's new key and value, and let its query look at all up to there; the heads' outputs and weights_RHT.

    Plain PyTorch: the reference, and the oracle of kernels.
    """
    visible_RT = torch.arange(rows.places_RT.shape[1], device=q_RHK.device) <= rows.positions_R[:, None]
    kept.store(rows.places_RT.gather(1, rows.positions_R[:, None]).squeeze(1).long(), k_RHK, v_RHK)
    places_RT = rows.places_RT.where(visible_RT, kept.nowhere).long()
    k_RTHK, v_RTHK = kept.keys_PHK[places_RT], kept.values_PHK[places_RT]
    out, weights = scaled_dot_product_attention(q_RHK[:, None], k_RTHK, v_RTHK, visible_RT[:, None, None])
    return out.squeeze(1), weights.squeeze(2)


def memory_attention(q_BWHK: Tensor, kept: Kept, rows: Rows) -> tuple[Tensor, Tensor]:
    """The queries of a sentence's hypotheses over its memory, likewise; the heads' outputs and weights_BHWS."""
    j_S = torch.arange(rows.longest_memory, device=q_BWHK.device)
    visible_BS = j_S < rows.memory_lengths_B[:, None]
    places_BS = (rows.memory_B[:, None] + j_S).where(visible_BS, kept.nowhere)
    k_BSHK, v_BSHK = kept.keys_PHK[places_BS], kept.values_PHK[places_BS]
    return scaled_dot_product_attention(q_BWHK, k_BSHK, v_BSHK, visible_BS[:, None, None])


def attend_history(q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor, kept: Kept, rows: Rows) -> Tensor:
    return history_attention(q_RHK, k_RHK, v_RHK, kept, rows)[0]


def attend_memory(q_BWHK: Tensor, kept: Kept, rows: Rows) -> Tensor:
    return memory_attention(q_BWHK, kept, rows)[0]


def add_norm(x: Tensor, s: Tensor, norm: nn.LayerNorm, pre_norm: bool) -> tuple[Tensor, Tensor]:
    """What the next sub-layer's output is added to, and what that sub-layer reads, likewise: post-norm, both are
    `LayerNorm(x + Sublayer(x))` (paper, 3.1); pre-norm, the sum itself and its norm."""
    total = x + s
    normed = norm(total)
    return (total if pre_norm else normed), normed


@dataclass(frozen=True, eq=False)
class Operations:
    """What a step is made of, besides matrix products; these plain ones, or kernels that do the same."""

    attend_history: Callable[[Tensor, Tensor, Tensor, Kept, Rows], Tensor] = attend_history
    attend_memory: Callable[[Tensor, Kept, Rows], Tensor] = attend_memory
    add_norm: Callable[[Tensor, Tensor, nn.LayerNorm, bool], tuple[Tensor, Tensor]] = add_norm


@dataclass(frozen=True, eq=False)
class Fused:
    """Projections of one input side by side, put together once: one wide product is faster than several narrow ones."""

    weight: Tensor
    bias: Tensor | None
    widths: tuple[int, ...]

    @classmethod
    def of(cls, *kinds: nn.Linear) -> Self:
        bias = torch.cat([each.bias for each in kinds]) if kinds[0].bias is not None else None
        return cls(torch.cat([each.weight for each in kinds]), bias, tuple(each.out_features for each in kinds))

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        return F.linear(x, self.weight, self.bias).split(self.widths, dim=-1)


class CachedDecoder:
    """The decoder of a model, with the same modules and weights, one token of each row at a time."""

    def __init__(self, model: Transformer, operations: Operations | None = None) -> None:
        self.model, self.operations = model, operations or Operations()
        self.layers = [cast(DecoderLayer, layer) for layer in model.decoder.layers]
        self.own = [Fused.of(a.w_q, a.w_k, a.w_v) for a in (layer.self_attention for layer in self.layers)]
        self.memory = [Fused.of(a.w_k, a.w_v) for a in (layer.cross_attention for layer in self.layers)]
        self.pre_norm = model.config.norm == "pre"
        # A norm follows its own sub-layer; pre-norm, the one before, so that the first is of the embeddings, and the
        # stack's own follows the last.
        own: list[nn.Module] = [each.norm for each in model.decoder.layers.modules() if isinstance(each, Residual)]
        self.norms = [*own, model.decoder.norm] if self.pre_norm else [nn.Identity(), *own]

    def remember(self, memory_ND: Tensor, places_N: Tensor, cache: Cache) -> None:
        """Project memories into keys and values of every layer, and put them at their places."""
        for layer, project in enumerate(self.memory):
            attention = self.layers[layer].cross_attention
            cache.layer(layer).store(places_N, *split_heads(attention, *project(memory_ND)))

    def step(self, rows: Rows, cache: Cache) -> Tensor:
        """The decoder's last layer for the rows' tokens, whose keys and values are kept."""
        encoding = self.model.target_positions
        x_RD = self.model.embed(rows.tokens_R, self.model.embedding, rows.positions_R, encoding)
        rotation = encoding.rotation(rows.positions_R)
        norms = iter(self.norms)
        read_RD = next(norms)(x_RD)
        for number, layer in enumerate(self.layers):
            kept = cache.layer(number)
            look_back = partial(self.look_back, number, kept, rows, rotation)
            look_at_memory = partial(self.look_at_memory, number, kept, rows)
            for sublayer in (look_back, look_at_memory, layer.feed_forward):
                norm = cast(nn.LayerNorm, next(norms))
                x_RD, read_RD = self.operations.add_norm(x_RD, sublayer(read_RD), norm, self.pre_norm)
        return read_RD

    def look_back(self, number: int, kept: Kept, rows: Rows, rotation: Rotation | None, x_RD: Tensor) -> Tensor:
        """Self-attention over a row's own history, of which its token is the last."""
        attention = self.layers[number].self_attention
        q, k, v = self.own[number](x_RD)
        q_RHK = q.unflatten(-1, (-1, attention.k_width))
        k_RHK, v_RHK = split_heads(attention, k, v)
        if rotation is not None:
            q_RHK, k_RHK = rotation(q_RHK), rotation(k_RHK)
        return attention.w_o(self.operations.attend_history(q_RHK, k_RHK, v_RHK, kept, rows).flatten(-2))

    def look_at_memory(self, number: int, kept: Kept, rows: Rows, x_RD: Tensor) -> Tensor:
        attention = self.layers[number].cross_attention
        q_BWHK = attention.queries(x_RD).unflatten(0, (len(rows.memory_B), -1))
        return attention.w_o(self.operations.attend_memory(q_BWHK, kept, rows).flatten(0, 1).flatten(-2))


def split_heads(attention: MultiHeadAttention, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    return k.unflatten(-1, (-1, attention.k_width)), v.unflatten(-1, (-1, attention.v_width))
