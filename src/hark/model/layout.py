"""Layouts: how sentence pairs are arranged in a batch, padded or packed. The only difference between the two."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from hark.model.patterns import Observed, Packed, Padded, Pattern

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

    def observed(self, sinks: Mapping[str, Sink]) -> "Layout":
        """Return the same layout, passing the attention weights of each layer to the sinks, by the pattern's name."""
        return self.wrap(lambda name, pattern: Observed(pattern, sinks[name]) if name in sinks else pattern)


Bias = Callable[[int], Tensor | None]
"""What the positions below a number add to the scores of self-attention (`Positions.bias`)."""


def no_bias(length: int) -> None:  # noqa: ARG001
    return None


def padded_layout(
    source_lengths_B: Tensor, target_lengths_B: Tensor, source_bias: Bias = no_bias, target_bias: Bias = no_bias
) -> Layout:
    """One sentence per row, padded at the end to the longest."""
    source_BS, encoder = padded_text(source_lengths_B, bias=source_bias)
    target_BT, decoder = padded_text(target_lengths_B, causal=True, bias=target_bias)
    return of_translation(source_BS, target_BT, encoder, decoder, Padded(encoder.keys_BS))


def padded_text(lengths_B: Tensor, causal: bool = False, bias: Bias = no_bias) -> tuple[Tensor, Padded]:
    """The positions 0, 1, 2, ... of each row, and the self-attention pattern of one side."""
    positions_BT = torch.arange(int(lengths_B.max()), device=lengths_B.device).expand(len(lengths_B), -1)
    keys_BT = None if causal else positions_BT < lengths_B[:, None]
    return positions_BT, Padded(keys_BT, causal, bias(positions_BT.shape[1]))


def packed_layout(
    source_cu: Tensor,
    target_cu: Tensor,
    source_positions: Tensor,
    target_positions: Tensor,
    longest: int,
    fused: bool = False,
    source_bias: Bias = no_bias,
    target_bias: Bias = no_bias,
) -> Layout:
    """Sentences end to end. `longest` is passed in to avoid waiting for the device; `fused` selects our own kernels."""
    encoder, decoder, cross = (
        Packed(source_cu, source_cu, longest, bias_HTS=source_bias(longest)),
        Packed(target_cu, target_cu, longest, causal=True, bias_HTS=target_bias(longest)),
        Packed(target_cu, source_cu, longest),
    )
    if fused:
        source, target = len(source_positions), len(target_positions)
        encoder, decoder = encoder.with_ranges(source, source), decoder.with_ranges(target, target)
        cross = cross.with_ranges(target, source)
    return of_translation(source_positions, target_positions, encoder, decoder, cross)


def of_translation(source: Tensor, target: Tensor, encoder: Pattern, decoder: Pattern, cross: Pattern) -> Layout:
    return Layout({"source": source, "target": target}, {"encoder": encoder, "decoder": decoder, "cross": cross})
