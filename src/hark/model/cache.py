"""The key-value cache, and a decoder that runs one token at a time with it.

One tensor of places holds the keys of every memory and every hypothesis; entries never move. Index tables define which
places a row sees, so reordering hypotheses, admitting sentences and retiring them is a `select` of small integers, with
the row as the first axis. The memory of a sentence is projected to keys and values once, and its W hypotheses share
them.

A model of one stack has no memories: its rows attend to their history alone.

In addition to the package's legend: P places, T positions of the target so far, L layers.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hark.config import Activation, ModelConfig
from hark.errors import HarkError
from hark.model.backends import Backend, JoinedLinear, Linear, Norm, activated, few_rows_linear, projections
from hark.model.interface import Model, Stack
from hark.model.layers import Layer
from hark.model.one_stack import OneStack
from hark.model.patterns import Packed, scaled_dot_product_attention

SPARE = 128
"""Unassigned places at the end. Rows without a sentence write there, and masked positions read from there, because they
always hold finite numbers."""


@dataclass(frozen=True, eq=False)
class LayerCache:
    """Keys and values of one layer, by place."""

    keys_PHK: Tensor
    values_PHK: Tensor
    layer: int

    @property
    def padding(self) -> int:
        """The first of the spare places."""
        return len(self.keys_PHK) - SPARE

    def store(self, places_N: Tensor, k_NHK: Tensor, v_NHK: Tensor) -> None:
        """Write keys and values. Several rows may write to one spare place at once; its contents are never used."""
        self.keys_PHK.index_copy_(0, places_N, k_NHK)
        self.values_PHK.index_copy_(0, places_N, v_NHK)


@dataclass(frozen=True, eq=False)
class Cache:
    """Keys and values of every layer, by place."""

    keys_LPHK: Tensor
    values_LPHK: Tensor

    @classmethod
    def empty(cls, config: ModelConfig, places: int, device: torch.device | str, dtype: torch.dtype) -> Self:
        shape = (config.n_decoder_layers, places + SPARE, config.kv_heads)
        keys, values = (
            torch.empty(*shape, width, device=device, dtype=dtype) for width in (config.k_width, config.v_width)
        )
        keys[:, places:] = values[:, places:] = 0
        return cls(keys, values)

    def layer(self, number: int) -> LayerCache:
        return LayerCache(self.keys_LPHK[number], self.values_LPHK[number], number)

    @property
    def padding(self) -> int:
        return self.layer(0).padding


@dataclass(frozen=True, eq=False)
class Rows:
    """The input of one step: W hypotheses of each of B sentences, so R = B*W rows, each at its own position."""

    tokens_R: Tensor
    positions_R: Tensor
    places_RT: Tensor
    """The places of the keys at positions 0, 1, 2, ... of a row, up to and including its token; later ones are
    ignored."""
    memory_B: Tensor
    """The first place of the memory of each sentence; the others follow it. Unused without cross-attention."""
    memory_lengths_B: Tensor
    longest_memory: int
    """An upper bound of these lengths, known without waiting for the device."""
    bias_HTS: Tensor | None = None
    """Added to the self-attention scores, by head and the positions of query and key (`Packed.bias_HTS`)."""


@dataclass(frozen=True, eq=False)
class Prompts:
    """Beginnings of outputs, packed end to end, whose keys and values are computed in one pass."""

    tokens_N: Tensor
    positions_N: Tensor
    places_N: Tensor
    own: Packed
    memory_places_N: Tensor | None = None
    """The places of their memories, packed end to end; None: without cross-attention."""
    cross: Packed | None = None

    def store_and_attend(self, kept: LayerCache, q_NHK: Tensor, k_NHK: Tensor, v_NHK: Tensor) -> Tensor:
        kept.store(self.places_N, k_NHK, v_NHK)
        return self.own(q_NHK, k_NHK, v_NHK)


def history_attention(
    q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor, kept: LayerCache, rows: Rows
) -> tuple[Tensor, Tensor]:
    """Store the new key and value of each row, and attend to its history; return the heads' outputs and weights_RHT.

    Plain PyTorch: the reference for the kernels.
    """
    visible_RT = torch.arange(rows.places_RT.shape[1], device=q_RHK.device) <= rows.positions_R[:, None]
    kept.store(rows.places_RT.gather(1, rows.positions_R[:, None]).squeeze(1).long(), k_RHK, v_RHK)
    places_RT = rows.places_RT.where(visible_RT, kept.padding).long()
    k_RTHK, v_RTHK = kept.keys_PHK[places_RT], kept.values_PHK[places_RT]
    bias_RH1T = None
    if rows.bias_HTS is not None:
        bias_RH1T = rows.bias_HTS[:, rows.positions_R, : places_RT.shape[1]].transpose(0, 1).unsqueeze(2)
    visible_R11T = visible_RT[:, None, None]
    out, weights = scaled_dot_product_attention(q_RHK[:, None], k_RTHK, v_RTHK, visible_R11T, bias_RH1T)
    return out.squeeze(1), weights.squeeze(2)


def memory_attention(q_BWHK: Tensor, kept: LayerCache, rows: Rows) -> tuple[Tensor, Tensor]:
    """Attend from the hypotheses of a sentence to its memory; return the heads' outputs and weights_BHWS."""
    j_S = torch.arange(rows.longest_memory, device=q_BWHK.device)
    visible_BS = j_S < rows.memory_lengths_B[:, None]
    places_BS = (rows.memory_B[:, None] + j_S).where(visible_BS, kept.padding)
    k_BSHK, v_BSHK = kept.keys_PHK[places_BS], kept.values_PHK[places_BS]
    return scaled_dot_product_attention(q_BWHK, k_BSHK, v_BSHK, visible_BS[:, None, None])


def attend_history(q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor, kept: LayerCache, rows: Rows) -> Tensor:
    return history_attention(q_RHK, k_RHK, v_RHK, kept, rows)[0]


def attend_memory(q_BWHK: Tensor, kept: LayerCache, rows: Rows) -> Tensor:
    return memory_attention(q_BWHK, kept, rows)[0]


def add_norm(x: Tensor, s: Tensor, norm: Norm, pre_norm: bool) -> tuple[Tensor, Tensor]:
    """Return the residual stream and the input of the next sub-layer. Post-norm, both are `LayerNorm(x + Sublayer(x))`
    (paper, 3.1); pre-norm, the sum and its norm."""
    total = x + s
    normed = norm(total)
    return (total if pre_norm else normed), normed


@dataclass(frozen=True, eq=False)
class Operations:
    """The operations of a step except matrix products: these in PyTorch, or equivalent kernels."""

    attend_history: Callable[[Tensor, Tensor, Tensor, LayerCache, Rows], Tensor] = attend_history
    attend_memory: Callable[[Tensor, LayerCache, Rows], Tensor] = attend_memory
    add_norm: Callable[[Tensor, Tensor, Norm, bool], tuple[Tensor, Tensor]] = add_norm


class DeferredSum(NamedTuple):
    """The sum x + s, left to the following norm, which computes both in one operation."""

    x_RD: Tensor
    s_RD: Tensor


class CachedBackend(Backend):
    """Runs layers for one token per row, without dropout or gradients, and with the projections of one input joined.

    A sum and its norm are one operation. Pre-norm, the norm belongs to the next sub-layer, so the sum is deferred.
    """

    def __init__(self, stack: Stack, operations: Operations, linear: Linear, share: bool) -> None:
        self.operations, self.linear = operations, linear
        self.joined: dict[tuple[nn.Linear, ...], JoinedLinear] = {}
        for linears in projections(stack):
            if len(linears) > 1:
                self.joined[linears] = JoinedLinear(*linears)
                if share:
                    self.joined[linears].share()

    def project(self, x: Tensor, *linears: nn.Linear, activation: Activation | None = None) -> tuple[Tensor, ...]:
        if len(linears) > 1:
            return activated(activation, *self.joined[linears](x, self.linear))
        return activated(activation, self.linear(x, linears[0].weight, linears[0].bias))

    def norm(self, x: Tensor | DeferredSum, norm: Norm) -> tuple[Tensor, Tensor]:
        return self.operations.add_norm(*x, norm, True) if isinstance(x, DeferredSum) else (x, norm(x))

    def add(self, x: Tensor, s: Tensor, dropout: nn.Dropout) -> DeferredSum:  # noqa: ARG002
        return DeferredSum(x, s)

    def add_norm(self, x: Tensor, s: Tensor, norm: Norm, dropout: nn.Dropout) -> Tensor:  # noqa: ARG002
        return self.operations.add_norm(x, s, norm, False)[1]


class CachedDecoder:
    """Runs the decoder of a model for one token per row, with the same modules and weights.

    share: make weights of the model views of those that are joined here, which then take no memory of their own."""

    def __init__(self, model: Model, operations: Operations | None = None, share: bool = False) -> None:
        stack = model.stacks.get("decoder")
        if stack is None or not stack.spec.causal:
            raise HarkError("cannot decode one token at a time: the decoder is not causal")
        self.model, self.stack, self.operations = model, stack, operations or Operations()
        self.prediction = model.prediction if isinstance(model, OneStack) else None
        # The paper's model is searched in more rows, with products as they always were.
        self.linear: Linear = few_rows_linear if isinstance(model, OneStack) else F.linear
        self.backend = CachedBackend(stack, self.operations, self.linear, share)
        self.layers = [cast(Layer, layer) for layer in stack.layers]
        self.biases: dict[int, Tensor | None] = {}
        """Of the scores, by the number of positions. A captured step keeps using its own."""

    def bias(self, length: int, dtype: torch.dtype) -> Tensor | None:
        """What the positions below `length` add to the scores of self-attention."""
        if length not in self.biases:
            bias_HTS = self.model.target_positions.bias(length)
            self.biases[length] = bias_HTS if bias_HTS is None else bias_HTS.to(dtype)
        return self.biases[length]

    def prefill(self, memory_ND: Tensor, places_N: Tensor, cache: Cache) -> None:
        """Project memories to the keys and values of every layer, and store them at their places."""
        for number, layer in enumerate(self.layers):
            cache.layer(number).store(places_N, *layer.cross_attention.keys_values(memory_ND, self.backend))

    def read(self, prompts: Prompts, cache: Cache) -> None:
        """Store the keys and values of all tokens of prompts, in one pass. Their memories are in the cache."""
        x = self.model.embed_target(prompts.tokens_N, prompts.positions_N)
        bias_HTS = self.model.target_positions.bias(prompts.own.longest)
        if bias_HTS is not None:
            prompts = replace(prompts, own=replace(prompts.own, bias_HTS=bias_HTS))
        rotation = self.model.target_positions.rotation(prompts.positions_N)
        for number, layer in enumerate(self.layers):
            kept = cache.layer(number)
            places_N = prompts.memory_places_N
            memory = None if places_N is None else (kept.keys_PHK[places_N], kept.values_PHK[places_N])
            x = layer(x, partial(prompts.store_and_attend, kept), memory, prompts.cross, rotation, self.backend)

    def step(self, rows: Rows, cache: Cache) -> Tensor:
        """Store the keys and values of the rows' tokens, and return the output of the last layer."""
        x = self.model.embed_target(rows.tokens_R, rows.positions_R)
        rotation = self.model.target_positions.rotation(rows.positions_R)
        if rows.bias_HTS is None:
            rows = replace(rows, bias_HTS=self.bias(rows.places_RT.shape[1], x.dtype))
        for number, layer in enumerate(self.layers):
            kept = cache.layer(number)
            history, cross = partial(self.self_attend, kept, rows), partial(self.cross_attend, kept, rows)
            x = layer(x, history, (kept.keys_PHK, kept.values_PHK), cross, rotation, self.backend)
        hidden_RD = self.stack.last_norm(x, self.backend)
        return hidden_RD if self.prediction is None else self.prediction(hidden_RD)

    def self_attend(self, kept: LayerCache, rows: Rows, q_RHK: Tensor, k_RHK: Tensor, v_RHK: Tensor) -> Tensor:
        """Self-attention of each row over its history, which ends with its token."""
        return self.operations.attend_history(q_RHK, k_RHK, v_RHK, kept, rows)

    def cross_attend(self, kept: LayerCache, rows: Rows, q_RHK: Tensor, _keys: Tensor, _values: Tensor) -> Tensor:
        """Cross-attention of all hypotheses of a sentence together, with the cached keys and values."""
        q_BWHK = q_RHK.unflatten(0, (len(rows.memory_B), -1))
        return self.operations.attend_memory(q_BWHK, kept, rows).flatten(0, 1)
