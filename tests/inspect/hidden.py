"""Hides source words from a model: omits their tokens, and keeps the positions of the others."""

import copy
from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from hark.model import Transformer
from hark.model.positions import Positions, Rotation


def without_words(
    model: Transformer, source: Sequence[int], hidden: Collection[int]
) -> tuple[Transformer, tuple[int, ...]]:
    """Return a model and a source without the tokens at some positions."""
    kept = [position for position in range(len(source)) if position not in hidden]
    found = copy.deepcopy(model)
    found.source_positions = LayerCache(model.source_positions, torch.tensor(kept))
    return found, tuple(source[position] for position in kept)


class LayerCache(Positions):
    """The original positions of the remaining tokens."""

    def __init__(self, positions: Positions, kept: Tensor) -> None:
        super().__init__()
        self.positions, self.kept = positions, kept

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.positions.add(x, self.kept[positions])

    def rotation(self, positions: Tensor) -> Rotation | None:
        return self.positions.rotation(self.kept[positions])

    def bias(self, length: int) -> Tensor | None:
        bias_HTS = self.positions.bias(int(self.kept.max()) + 1)
        return None if bias_HTS is None else bias_HTS[:, self.kept[:length, None], self.kept[:length]]
