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
from typing import NamedTuple, Self, cast

import torch
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.errors import HarkError
from hark.model.layers import Layer
from hark.model.patterns import scaled_dot_product_attention
from hark.model.transformer import Stack, Transformer
from hark.model.ways import Joined, Way, projections

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
    bias_HTS: Tensor | None = None
    """Added to the scores of a row's history, by head and the positions of query and key (`Packed.bias_HTS`)."""


def history_attention(q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor, kept: Kept, rows: Rows) -> tuple[Tensor, Tensor]:
    """Keep each row's new key and value, and let its query look at all up to there; the heads' outputs and weights_RHT.

    Plain PyTorch: the reference, and the oracle of kernels.
    """
    visible_RT = torch.arange(rows.places_RT.shape[1], device=q_RHK.device) <= rows.positions_R[:, None]
    kept.store(rows.places_RT.gather(1, rows.positions_R[:, None]).squeeze(1).long(), k_RHK, v_RHK)
    places_RT = rows.places_RT.where(visible_RT, kept.nowhere).long()
    k_RTHK, v_RTHK = kept.keys_PHK[places_RT], kept.values_PHK[places_RT]
    bias_RH1T = None
    if rows.bias_HTS is not None:
        bias_RH1T = rows.bias_HTS[:, rows.positions_R, : places_RT.shape[1]].transpose(0, 1).unsqueeze(2)
    visible_R11T = visible_RT[:, None, None]
    out, weights = scaled_dot_product_attention(q_RHK[:, None], k_RTHK, v_RTHK, visible_R11T, bias_RH1T)
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


class Unsummed(NamedTuple):
    """The sum x + s, which the norm after it computes in one operation with itself."""

    x_RD: Tensor
    s_RD: Tensor


class CachedWay(Way):
    """Layers one token of each row at a time, without dropout or gradients, and with the products of one input joined.

    Post-norm, a sum and its norm are one operation. So they are pre-norm, where the norm belongs to the next sub-layer:
    the sum is put off until then.
    """

    def __init__(self, stack: Stack, operations: Operations) -> None:
        self.operations = operations
        self.joined = {linears: Joined(*linears) for linears in projections(stack) if len(linears) > 1}

    def project(self, x: Tensor, *linears: nn.Linear, relu: bool = False) -> tuple[Tensor, ...]:
        return self.joined[linears](x) if len(linears) > 1 else super().project(x, *linears, relu=relu)

    def norm(self, x: Tensor | Unsummed, norm: nn.LayerNorm) -> tuple[Tensor, Tensor]:
        return self.operations.add_norm(*x, norm, True) if isinstance(x, Unsummed) else (x, norm(x))

    def add(self, x: Tensor, s: Tensor, dropout: nn.Dropout) -> Unsummed:  # noqa: ARG002
        return Unsummed(x, s)

    def add_norm(self, x: Tensor, s: Tensor, norm: nn.LayerNorm, dropout: nn.Dropout) -> Tensor:  # noqa: ARG002
        return self.operations.add_norm(x, s, norm, False)[1]


class CachedDecoder:
    """The decoder of a model, with the same modules and weights, one token of each row at a time."""

    def __init__(self, model: Transformer, operations: Operations | None = None) -> None:
        if not model.decoder.spec.causal:
            raise HarkError("only a causal stack can be run a token at a time, and this model's decoder is not causal")
        self.model, self.operations = model, operations or Operations()
        self.way = CachedWay(model.decoder, self.operations)
        self.layers = [cast(Layer, layer) for layer in model.decoder.layers]

    def remember(self, memory_ND: Tensor, places_N: Tensor, cache: Cache) -> None:
        """Project memories into keys and values of every layer, and put them at their places."""
        for number, layer in enumerate(self.layers):
            cache.layer(number).store(places_N, *layer.cross_attention.keys_values(memory_ND, self.way))

    def step(self, rows: Rows, cache: Cache) -> Tensor:
        """The decoder's last layer for the rows' tokens, whose keys and values are kept."""
        encoding = self.model.target_positions
        x = self.model.embed(rows.tokens_R, self.model.embedding, rows.positions_R, encoding)
        rotation = encoding.rotation(rows.positions_R)
        for number, layer in enumerate(self.layers):
            kept = cache.layer(number)
            history, cross = partial(self.look_back, kept, rows), partial(self.look_at_memory, kept, rows)
            x = layer(x, history, (kept.keys_PHK, kept.values_PHK), cross, rotation, self.way)
        return self.model.decoder.last_norm(x, self.way)

    def look_back(self, kept: Kept, rows: Rows, q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor) -> Tensor:
        """Self-attention over a row's own history, of which its token is the last."""
        return self.operations.attend_history(q_RHK, k_RHK, v_RHK, kept, rows)

    def look_at_memory(self, kept: Kept, rows: Rows, q_RHK: Tensor, _keys: Tensor, _values: Tensor) -> Tensor:
        """Cross-attention of all hypotheses of a sentence together. Keys and values are those that are kept."""
        q_BWHK = q_RHK.unflatten(0, (len(rows.memory_B), -1))
        return self.operations.attend_memory(q_BWHK, kept, rows).flatten(0, 1)
