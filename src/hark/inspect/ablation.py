"""A model without some of its heads: what changes is what they were for.

It is a change of the model that is handed over and not of the code that runs it: the result is an ordinary
`Transformer` that shares every weight it can, and a forced pass, the search of our engine and observing work on it as
they are. Many changes at once, for one sentence, are `variants`.
"""

import copy
from collections.abc import Iterable
from typing import TypeVar, cast

import torch
from torch import nn

from hark.errors import UserError
from hark.inspect.attention import Head
from hark.model import Transformer
from hark.model.attention import MultiHeadAttention
from hark.model.layers import Layer

Module = TypeVar("Module", bound=nn.Module)


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


def sharing(module: Module) -> Module:
    """A module of its own, with submodules of its own, and the same weights and tables in memory."""
    found = copy.copy(module)
    found._modules = {name: sharing(child) if child is not None else None for name, child in module._modules.items()}
    found._parameters, found._buffers = module._parameters.copy(), module._buffers.copy()
    return found


def attention_of(model: Transformer, head: Head) -> MultiHeadAttention:
    layers = model.encoder.layers if head.kind == "encoder" else model.decoder.layers
    if not (0 <= head.layer < len(layers) and 0 <= head.number < model.config.n_heads):
        raise UserError(f"{head}: the model has {len(layers)} such layers of {model.config.n_heads} heads")
    layer = cast(Layer, layers[head.layer])
    return layer.cross_attention if head.kind == "cross" else layer.self_attention
