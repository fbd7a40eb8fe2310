"""Layouts: how sentence pairs are arranged in a batch, padded or packed. The only difference between the two."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hark.model.patterns import Observed, Packed, Padded, Pattern, Permuted
from hark.model.positions import Positions

Sink = Callable[[Tensor], object]


@dataclass(frozen=True, eq=False)
class Layout:
    """The position of each token, by stream, and the pattern of each use of attention, by name. A translation model has
    three (paper, 3.2.3): `encoder`, `decoder` and `cross`."""

    positions: Mapping[str, Tensor]
    patterns: Mapping[str, Pattern]

    def wrap(self, wrap: Callable[[str, Pattern], Pattern]) -> "Layout":
        """Return the same layout with other patterns, made from its own."""
        return Layout(self.positions, {name: wrap(name, pattern) for name, pattern in self.patterns.items()})

    def permuted(self, stream: str, name: str, ranks: Tensor) -> "Layout":
        """Return the same layout with a factorisation order over a packed stream (`Permuted`): the ranks of its slots,
        and the name of its pattern."""
        packed = self.patterns[name]
        assert isinstance(packed, Packed)
        return Layout(self.positions, {**self.patterns, name: Permuted.of(packed, ranks, self.positions[stream])})

    def dropping(self, share: float) -> "Layout":
        """Return the same layout for training, which drops this share of the attention weights."""

        def dropped(_: str, pattern: Pattern) -> Pattern:
            assert isinstance(pattern, Packed | Padded)
            return replace(pattern, dropout=share)

        return self.wrap(dropped) if share else self

    def observed(self, sinks: Mapping[str, Sink]) -> "Layout":
        """Return the same layout, passing the attention weights of each layer to the sinks, by the pattern's name."""
        return self.wrap(lambda name, pattern: Observed(pattern, sinks[name]) if name in sinks else pattern)


NONE = Positions()


def padded_layout(
    source_lengths_B: Tensor, target_lengths_B: Tensor, source: Positions = NONE, target: Positions = NONE
) -> Layout:
    """One sentence per row, padded at the end to the longest."""
    source_BS, encoder = padded_text(source_lengths_B, source)
    target_BT, decoder = padded_text(target_lengths_B, target, causal=True)
    return of_translation(source_BS, target_BT, encoder, decoder, Padded(encoder.keys_BS))


def padded_text(lengths_B: Tensor, positions: Positions = NONE, causal: bool = False) -> tuple[Tensor, Padded]:
    """The positions 0, 1, 2, ... of each row, and the self-attention pattern of one side."""
    positions_BT = torch.arange(int(lengths_B.max()), device=lengths_B.device).expand(len(lengths_B), -1)
    keys_BT = None if causal else positions_BT < lengths_B[:, None]
    return positions_BT, Padded(keys_BT, causal, positions.bias(positions_BT.shape[1]))


def packed_layout(
    source_cu: Tensor,
    target_cu: Tensor,
    source_positions: Tensor,
    target_positions: Tensor,
    longest: int,
    fused: bool = False,
    source: Positions = NONE,
    target: Positions = NONE,
) -> Layout:
    """Sentences end to end. `longest` is passed in to avoid waiting for the device; `fused` selects our own kernels."""
    slots = len(source_positions), len(target_positions)
    encoder = packed_text(source_cu, slots[0], longest, source, fused=fused)
    decoder = packed_text(target_cu, slots[1], longest, target, causal=True, fused=fused)
    cross = Packed(target_cu, source_cu, longest)
    cross = cross.with_ranges(slots[1], slots[0]) if fused else cross
    return of_translation(source_positions, target_positions, encoder, decoder, cross)


def packed_text(
    cu: Tensor, slots: int, longest: int, positions: Positions, causal: bool = False, fused: bool = False
) -> Packed:
    """The self-attention pattern of one side."""
    if fused:
        return Packed(cu, cu, longest, causal).with_ranges(slots, slots, positions.distances(longest))
    return Packed(cu, cu, longest, causal, positions.bias(longest))


def of_translation(source: Tensor, target: Tensor, encoder: Pattern, decoder: Pattern, cross: Pattern) -> Layout:
    return Layout({"source": source, "target": target}, {"encoder": encoder, "decoder": decoder, "cross": cross})
