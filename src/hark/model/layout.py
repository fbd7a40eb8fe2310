"""Layouts: how sentence pairs are arranged in a batch, padded or packed. The only difference between the two."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hark.model.patterns import Observed, Packed, Padded, Pattern

Sink = Callable[[Tensor], object]


@dataclass(frozen=True, eq=False)
class Layout:
    """The position of each token, and the patterns of the three uses of attention (paper, 3.2.3)."""

    source_positions: Tensor
    target_positions: Tensor
    encoder: Pattern
    decoder: Pattern
    cross: Pattern

    def observed(self, encoder: Sink | None = None, decoder: Sink | None = None, cross: Sink | None = None) -> "Layout":
        """Return the same layout, passing the attention weights of each layer to the given sinks."""
        return replace(
            self,
            encoder=Observed(self.encoder, encoder) if encoder else self.encoder,
            decoder=Observed(self.decoder, decoder) if decoder else self.decoder,
            cross=Observed(self.cross, cross) if cross else self.cross,
        )


def padded_layout(source_lengths_B: Tensor, target_lengths_B: Tensor) -> Layout:
    """One sentence per row, padded at the end to the longest."""
    source_BS, encoder = padded_text(source_lengths_B)
    target_BT, decoder = padded_text(target_lengths_B, causal=True)
    return Layout(source_BS, target_BT, encoder, decoder, Padded(encoder.keys_BS))


def padded_text(lengths_B: Tensor, causal: bool = False) -> tuple[Tensor, Padded]:
    """The positions 0, 1, 2, ... of each row, and the self-attention pattern of one side."""
    positions_BT = torch.arange(int(lengths_B.max()), device=lengths_B.device).expand(len(lengths_B), -1)
    return positions_BT, Padded(causal=True) if causal else Padded(positions_BT < lengths_B[:, None])


def packed_layout(
    source_cu: Tensor,
    target_cu: Tensor,
    source_positions: Tensor,
    target_positions: Tensor,
    longest: int,
    fused: bool = False,
) -> Layout:
    """Sentences end to end. `longest` is passed in to avoid waiting for the device; `fused` selects our own kernels."""
    encoder, decoder, cross = (
        Packed(source_cu, source_cu, longest),
        Packed(target_cu, target_cu, longest, causal=True),
        Packed(target_cu, source_cu, longest),
    )
    if fused:
        source, target = len(source_positions), len(target_positions)
        encoder, decoder = encoder.with_ranges(source, source), decoder.with_ranges(target, target)
        cross = cross.with_ranges(target, source)
    return Layout(source_positions, target_positions, encoder, decoder, cross)
