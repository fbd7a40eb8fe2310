"""Hiding source words from a model for good: the tokens are left out, and the model is told where the others stood."""

import copy
from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from hark.model import Transformer
from hark.model.positions import Positions, Rotation


def without_words(
    model: Transformer, source: Sequence[int], hidden: Collection[int]
) -> tuple[Transformer, tuple[int, ...]]:
    """A model, and the source for it, in which nobody sees the source tokens at some positions."""
    kept = [position for position in range(len(source)) if position not in hidden]
    found = copy.deepcopy(model)
    found.source_positions = Kept(model.source_positions, torch.tensor(kept))
    return found, tuple(source[position] for position in kept)


class Kept(Positions):
    """Positions of the tokens that are left, as they were when all were there."""

    def __init__(self, positions: Positions, kept: Tensor) -> None:
        super().__init__()
        self.positions, self.kept = positions, kept

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.positions.add(x, self.kept[positions])

    def rotation(self, positions: Tensor) -> Rotation | None:
        return self.positions.rotation(self.kept[positions])
