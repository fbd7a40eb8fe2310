"""Attention patterns: which query sees which key, and which kernel computes it.

A pattern is immutable, built once per forward pass and shared by all layers. It is called with the queries, keys and
values of the heads and returns their outputs. Every fast kernel is tested against `Observed`, which computes the
paper's formula step by step. A query that sees no key returns zero.

A pattern can add a bias to the scores of each head: relative positions, ALiBi (Press et al., 2022), pairwise biases.
Kernels without support for a bias raise an error.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from hark.errors import HarkError
from hark.model.positions import DistanceBias

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Maps the queries, keys and values of the heads to their outputs."""
FLASH_WIDEST = 256
"""The widest head that PyTorch's flash kernel supports."""


class Pattern(Protocol):
    """q is (B, T, H, K) or (N, H, K); k has the length of the keys; v also has the width of the values instead of K.

    k and v may have fewer heads than q, each for several successive heads of q."""

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor: ...

    def visible(self, q: Tensor, k: Tensor) -> Tensor:
        """Booleans that broadcast to (B, H, T, S) or (H, N, N): whether a query may see a key."""
        ...

    def bias_for(self, q: Tensor, k: Tensor) -> Tensor | None:  # noqa: ARG002
        """A bias that broadcasts to the same shape and is added to the scores, or None."""
        return None


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, visible: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute equation 1, `softmax(Q K^T / sqrt(d_k)) V` (paper, 3.2.1); return the output and the weights.

    The output is a sum of the values, weighted by the compatibility of the query with each key (3.2). Compatibility is
    a dot product rather than a small network (additive attention), because matrix products are fast. Dot products of
    wide vectors are large and would push the softmax to where its gradients vanish, so they are divided by sqrt(d_k).
    Invisible keys are masked out before the softmax (3.2.3). The optional bias, which the paper does not have, is added
    to the scores.
    """
    k, v = match_heads(q, k, v)
    scores = torch.einsum("...qhd,...khd->...hqk", q, k) / math.sqrt(q.shape[-1])
    scores = scores if bias is None else scores + bias
    # The lowest finite number instead of -inf, so that a row that sees no key has zero weights, not NaN.
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1).masked_fill(~visible, 0.0)
    return torch.einsum("...hqk,...khd->...qhd", weights, v), weights


def match_heads(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Repeat keys and values whose heads are shared by several heads of queries."""
    times = q.shape[-2] // k.shape[-2]
    return (k, v) if times == 1 else (k.repeat_interleave(times, -2), v.repeat_interleave(times, -2))


@dataclass(frozen=True, eq=False)
class Padded(Pattern):
    """Sentences in rows of one length, padded at the end: q_BTHK, k_BSHK, v_BSHK.

    `keys_BS` marks the real keys; None means all. A causal pattern does not need it: a query at a real position sees
    only earlier positions, and those are real, because padding is at the end. `bias_BHTS` is added to the scores; axes
    of size 1 or missing leading axes broadcast. `dropout` is the share of attention weights that training drops.
    """

    keys_BS: Tensor | None = None
    causal: bool = False
    bias_BHTS: Tensor | None = None
    dropout: float = 0.0

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = match_heads(q, k, v)
        causal, mask = self.causal, None if self.keys_BS is None else self.keys_BS[:, None, None, :]
        if self.bias_BHTS is not None:
            causal, mask = False, masked(self.bias_BHTS, self.visible(q, k), q.dtype)
        q_BHTK, k_BHSK, v_BHSK = (x.transpose(1, 2) for x in (q, k, v))
        out_BHTK = F.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSK, mask, self.dropout, causal)
        return out_BHTK.transpose(1, 2)

    def bias_for(self, q: Tensor, k: Tensor) -> Tensor | None:  # noqa: ARG002
        return self.bias_BHTS

    def visible(self, q: Tensor, k: Tensor) -> Tensor:
        if self.causal:
            return torch.ones(q.shape[1], k.shape[1], dtype=torch.bool, device=q.device).tril()
        if self.keys_BS is None:
            return torch.ones(1, 1, dtype=torch.bool, device=q.device)
        return self.keys_BS[:, None, None, :]


def widen(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pad queries and keys, or values, with zeros to the same width. Zeros add nothing to a product."""
    width = max(q.shape[-1], v.shape[-1])
    q, k, v = (F.pad(x, (0, width - x.shape[-1])) if x.shape[-1] < width else x for x in (q, k, v))
    return q, k, v


@dataclass(frozen=True, eq=False)
class Packed(Pattern):
    """Sentences end to end with no padding: q_NHK, k_NHK, v_NHK, and cumulative lengths that cover every slot.

    Sentence i of the queries is `q_cu[i]:q_cu[i+1]` and sees only `k_cu[i]:k_cu[i+1]`; sentences may be empty.
    `longest` bounds the lengths on both sides and is known without waiting for the device. `bias_HTS` is added to the
    scores by the positions of query and key in their sentences, and covers `longest` positions. `ranges` is set if our
    own kernels are used (`with_ranges`), and then a bias is one of `distances`. `dropout` is the share of attention
    weights that training drops.
    """

    q_cu: Tensor
    k_cu: Tensor
    longest: int
    causal: bool = False
    bias_HTS: Tensor | None = None
    ranges: tuple[Tensor, Tensor, Tensor, Tensor] | None = None
    distances: DistanceBias | None = None
    dropout: float = 0.0

    def with_ranges(self, n_q: int, n_k: int, distances: DistanceBias | None = None) -> "Packed":
        """Return this pattern for a fixed number of slots, computed by our own kernels, which know biases only by
        distance."""
        from hark.model.kernels.attention import make_ranges

        if self.bias_HTS is not None:
            raise HarkError("our training kernels support an attention bias only by distance; train on the plain path")
        ranges = make_ranges(self.q_cu, self.k_cu, n_q, n_k, self.causal)
        return replace(self, ranges=ranges, distances=distances)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if self.ranges is not None:
            return self.ranged(q, k, v, self.ranges)
        k, v = match_heads(q, k, v)
        simple = self.bias_HTS is None and not self.dropout and max(q.shape[-1], v.shape[-1]) <= FLASH_WIDEST
        if q.is_cuda and q.dtype in (torch.bfloat16, torch.float16) and simple:
            return self.flash(q, k, v)
        return self.by_length(q, k, v)

    def visible(self, q: Tensor, k: Tensor) -> Tensor:
        q_sentence, k_sentence = sentence_ids(self.q_cu, len(q)), sentence_ids(self.k_cu, len(k))
        same = q_sentence[:, None] == k_sentence[None, :]
        if not self.causal:
            return same
        return same & (packed_positions(self.q_cu, len(q))[:, None] >= packed_positions(self.k_cu, len(k))[None, :])

    def bias_for(self, q: Tensor, k: Tensor) -> Tensor | None:
        if self.bias_HTS is None:
            return None
        return self.bias_HTS[:, packed_positions(self.q_cu, len(q))[:, None], packed_positions(self.k_cu, len(k))]

    def ranged(self, q: Tensor, k: Tensor, v: Tensor, ranges: tuple[Tensor, ...]) -> Tensor:
        """Our own kernels, which require the same width for keys and values, and divide by its square root."""
        from hark.model.kernels.attention import RangedAttention

        q_wide, k_wide, v_wide = widen(q, k, v)
        if q_wide is not q:
            q_wide = q_wide * math.sqrt(q_wide.shape[-1] / q.shape[-1])
        bias = (None, None) if self.distances is None else (self.distances.bias_HB, self.distances.step_D)
        out: Tensor = RangedAttention.apply(q_wide, k_wide, v_wide, *bias, self.dropout, self.longest, *ranges)
        return out[..., : v.shape[-1]]

    def flash(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """PyTorch's variable-length flash kernel, which requires the same width for keys and values."""
        from torch.nn.attention.varlen import varlen_attn

        if self.bias_HTS is not None:
            raise HarkError("PyTorch's variable-length flash kernel does not support an attention bias")
        scale = 1 / math.sqrt(q.shape[-1])
        q, k, wide_v = widen(q, k, v)
        window = (-1, 0) if self.causal else (-1, -1)
        longest = self.longest
        out = varlen_attn(q, k, wide_v, self.q_cu, self.k_cu, longest, longest, scale=scale, window_size=window)
        assert isinstance(out, Tensor)  # a tuple only if more outputs are requested
        return out[..., : v.shape[-1]]

    def by_length(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Fallback for any device: pad sentences of similar length to small rectangles, and pack the results again."""
        outs = []
        for group in self.groups:
            q_b, k_b, v_b = (
                x.index_select(0, slots.flatten()).unflatten(0, slots.shape).transpose(1, 2)
                for x, slots in ((q, group.q_slots), (k, group.k_slots), (v, group.k_slots))
            )
            mask = group.visible
            if (bias := self.group_bias(group)) is not None:
                mask = masked(bias, mask, q.dtype)
            out_b = F.scaled_dot_product_attention(q_b, k_b, v_b, mask, self.dropout)
            outs.append(out_b.transpose(1, 2).flatten(0, 1).index_select(0, group.real))
        return torch.cat(outs).index_select(0, self.order)

    def group_bias(self, group: "LengthGroup") -> Tensor | None:
        """The bias of a rectangle, which broadcasts to (B, H, T, S)."""
        return None if self.bias_HTS is None else self.bias_HTS[:, : group.q_slots.shape[1], : group.k_slots.shape[1]]

    @cached_property
    def groups(self) -> list["LengthGroup"]:
        """Sentences grouped by their longer side between powers of two, so that padding at most doubles a length."""
        q_lengths, k_lengths = self.q_cu.diff(), self.k_cu.diff()
        power = torch.maximum(q_lengths, k_lengths).clamp(min=1).log2().ceil().int()
        groups = []
        for each in power.unique().tolist():
            rows = torch.nonzero((power == each) & (q_lengths > 0)).squeeze(1)
            if len(rows):
                groups.append(LengthGroup.build(self, rows, q_lengths[rows], k_lengths[rows]))
        return groups

    @cached_property
    def order(self) -> Tensor:
        """The index of each slot in the concatenated results of the groups."""
        slots = torch.cat([group.q_slots.flatten()[group.real] for group in self.groups])
        return slots.argsort()


@dataclass(frozen=True, eq=False, kw_only=True)
class Permuted(Packed):
    """Packed sentences in which a factorisation order says who sees whom (Yang et al., 2019, 2.3): both streams in one
    sequence, with the same weights.

    A content slot stands for a token that others may see and has an odd rank in the order. A query slot predicts the
    token of its position, without seeing it, and has an even rank. A slot sees the content slots of its sentence whose
    ranks are at most its own. So content slots of equal rank see each other, and nobody sees a query slot.
    """

    ranks_N: Tensor
    positions_N: Tensor
    """By which a bias is chosen: those of a query slot and its token are the same."""

    @classmethod
    def of(cls, packed: Packed, ranks_N: Tensor, positions_N: Tensor) -> "Permuted":
        cu, longest = packed.q_cu, packed.longest
        return cls(cu, cu, longest, bias_HTS=packed.bias_HTS, ranks_N=ranks_N, positions_N=positions_N)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return self.by_length(q, *match_heads(q, k, v)).masked_fill(self.blind_N[:, None, None], 0.0)

    @cached_property
    def blind_N(self) -> Tensor:
        """Which slots see nothing."""
        sentence, most = sentence_ids(self.q_cu, len(self.ranks_N)), torch.iinfo(self.ranks_N.dtype).max
        offered = self.ranks_N.masked_fill(self.ranks_N % 2 == 0, most)
        least = offered.new_full((len(self.q_cu) - 1,), most).scatter_reduce(0, sentence, offered, "amin")
        return least[sentence] > self.ranks_N

    def sees(self, q_slots: Tensor, k_slots: Tensor) -> Tensor:
        """Whether the order lets each query slot see each key slot: (..., T), (..., S) -> (..., T, S)."""
        ranks = self.ranks_N[k_slots]
        return (ranks % 2 == 1)[..., None, :] & (ranks[..., None, :] <= self.ranks_N[q_slots][..., None])

    def visible(self, q: Tensor, k: Tensor) -> Tensor:
        slots = torch.arange(len(q), device=q.device)
        return super().visible(q, k) & self.sees(slots, slots)

    def bias_for(self, q: Tensor, k: Tensor) -> Tensor | None:  # noqa: ARG002
        at = self.positions_N
        return None if self.bias_HTS is None else self.bias_HTS[:, at[:, None], at]

    def group_bias(self, group: "LengthGroup") -> Tensor | None:
        if self.bias_HTS is None:
            return None
        q_at, k_at = self.positions_N[group.q_slots], self.positions_N[group.k_slots]
        return self.bias_HTS[:, q_at[:, :, None], k_at[:, None, :]].transpose(0, 1)

    @cached_property
    def groups(self) -> list["LengthGroup"]:
        groups = []
        for group in super().groups:
            visible = group.visible & self.sees(group.q_slots, group.k_slots)[:, None]
            # Some kernels return NaN for a row without keys, so it sees all here and becomes zero afterwards.
            visible |= group.visible & ~visible.any(-1, keepdim=True)
            groups.append(replace(group, visible=visible))
        return groups


@dataclass(frozen=True, eq=False)
class LengthGroup:
    """Sentences of similar length as a rectangle: the slot of each cell, and which query sees which key."""

    q_slots: Tensor
    k_slots: Tensor
    real: Tensor
    visible: Tensor

    @staticmethod
    def build(pattern: Packed, rows: Tensor, q_lengths: Tensor, k_lengths: Tensor) -> "LengthGroup":
        t = torch.arange(int(q_lengths.max()), device=rows.device)
        # If all sources are empty, the rectangle still needs one column, which no query sees.
        s = torch.arange(max(1, int(k_lengths.max())), device=rows.device)
        q_real, k_real = t < q_lengths[:, None], s < k_lengths[:, None]
        q_slots = (pattern.q_cu[:-1][rows, None] + t).where(q_real, 0)
        k_slots = (pattern.k_cu[:-1][rows, None] + s).where(k_real, 0)
        visible_BTS = k_real[:, None, :] & ((t[:, None] >= s) if pattern.causal else torch.ones_like(t[:, None] >= s))
        return LengthGroup(q_slots, k_slots, torch.nonzero(q_real.flatten()).squeeze(1), visible_BTS[:, None])


@dataclass(frozen=True, eq=False)
class Observed(Pattern):
    """Wraps a pattern: computes attention with an explicit softmax, and passes the weights of each layer to a sink.

    Used to inspect heads and as the reference for every fast kernel. The sink receives (B, H, T, S) or (H, N, N).
    """

    pattern: Pattern
    sink: Callable[[Tensor], object]

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out, weights = scaled_dot_product_attention(q, k, v, self.visible(q, k), self.bias_for(q, k))
        self.sink(weights)
        return out

    def visible(self, q: Tensor, k: Tensor) -> Tensor:
        return self.pattern.visible(q, k)

    def bias_for(self, q: Tensor, k: Tensor) -> Tensor | None:
        return self.pattern.bias_for(q, k)


def masked(bias: Tensor, visible: Tensor, dtype: torch.dtype) -> Tensor:
    """A bias for PyTorch's kernel, -inf where a key is not visible."""
    return bias.to(dtype).masked_fill(~visible, float("-inf"))


def sentence_ids(cu: Tensor, slots: int) -> Tensor:
    """The sentence that each packed slot belongs to."""
    ids = torch.arange(len(cu) - 1, device=cu.device)
    return ids.repeat_interleave(cu.diff(), output_size=slots)


def packed_positions(cu: Tensor, slots: int) -> Tensor:
    """The position of each packed slot in its sentence, from 0."""
    return torch.arange(slots, device=cu.device) - cu[:-1].repeat_interleave(cu.diff(), output_size=slots)
