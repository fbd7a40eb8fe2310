"""A model without some of its heads, or that does not see some source words: what changes is what they were for.

Both are changes of the model that is handed over and not of the code that runs it: the results are ordinary
`Transformer`s that share every weight they can, and a forced pass, the search of our engine and observing work on them
as they are.
"""

import copy
from collections.abc import Collection, Iterable, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from hark.errors import UserError
from hark.inspect.attention import Head
from hark.model import Transformer
from hark.model.attention import MultiHeadAttention
from hark.model.layers import Layer
from hark.model.positions import Positions, Rotation


def without_heads(model: Transformer, heads: Iterable[Head]) -> Transformer:
    """The model with the output of some heads zero, everywhere.

    A head's output meets the rest of the model only in its columns of W^O (paper, 3.2.2): zero columns are a zero
    output, exactly. Only the matrices that change are copied.
    """
    found = sharing(model)
    with torch.no_grad():
        for head in heads:
            attention = attention_of(found, head)
            weight = attention.w_o.weight
            if weight is attention_of(model, head).w_o.weight:
                weight = nn.Parameter(weight.clone())
                attention.w_o.weight = weight
            weight[:, head.number * attention.v_width : (head.number + 1) * attention.v_width] = 0.0
    return found


def without_words(
    model: Transformer, source: Sequence[int], hidden: Collection[int]
) -> tuple[Transformer, tuple[int, ...]]:
    """A model, and the source for it, in which nobody sees the source tokens at some positions.

    The tokens are left out, and the others keep their positions. That is the same as hiding their keys from the
    encoder's attention and the decoder's, since what they compute themselves then reaches nobody; and unlike a mask it
    works in every engine that runs the model. Leaving words out of the text would also move all words after them.
    """
    kept = [position for position in range(len(source)) if position not in hidden]
    if not kept:
        raise UserError("every word of the source is hidden; leave one to be seen")
    found = sharing(model)
    found.source_positions = Kept(model.source_positions, torch.tensor(kept, device=model.output_weight.device))
    return found, tuple(source[position] for position in kept)


class Kept(Positions):
    """Positions of the tokens that are left, as they were when all were there."""

    kept: Tensor

    def __init__(self, positions: Positions, kept: Tensor) -> None:
        super().__init__()
        self.positions = positions
        self.register_buffer("kept", kept, persistent=False)

    def add(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.positions.add(x, self.kept[positions])

    def rotation(self, positions: Tensor) -> Rotation | None:
        return self.positions.rotation(self.kept[positions])


def sharing(model: Transformer) -> Transformer:
    """A model of its own, with the same weights and tables in memory."""
    return copy.deepcopy(model, {id(each): each for each in (*model.parameters(), *model.buffers())})


def attention_of(model: Transformer, head: Head) -> MultiHeadAttention:
    layers = model.encoder.layers if head.kind == "encoder" else model.decoder.layers
    if not (0 <= head.layer < len(layers) and 0 <= head.number < model.config.n_heads):
        raise UserError(f"{head}: the model has {len(layers)} such layers of {model.config.n_heads} heads")
    layer = cast(Layer, layers[head.layer])
    return layer.cross_attention if head.kind == "cross" else layer.self_attention
