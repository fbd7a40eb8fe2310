"""Removes heads from a model, to measure what they contribute.

The result is an ordinary `Transformer` that shares all unchanged weights with the original, so that scoring, search and
observation work on it unchanged. See `variants` for many changes at once, for one sentence.
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

ModuleT = TypeVar("ModuleT", bound=nn.Module)


def without_heads(model: Transformer, heads: Iterable[Head]) -> Transformer:
    """Return a copy of the model in which the outputs of some heads are zero.

    A head's output enters the rest of the model only through its rows of W^O (paper, 3.2.2), which are columns of the
    weight of an `nn.Linear`: zeroing them removes the output exactly. Only the matrices that change are copied.
    """
    pruned = shallow_copy(model)
    with torch.no_grad():
        for head in heads:
            attention = attention_of(pruned, head)
            weight = attention.w_o.weight
            if weight is attention_of(model, head).w_o.weight:
                weight = nn.Parameter(weight.clone())
                attention.w_o.weight = weight
            weight[:, head.number * attention.v_width : (head.number + 1) * attention.v_width] = 0.0
    return pruned


def shallow_copy(module: ModuleT) -> ModuleT:
    """Copy a module and its submodules, but share parameters and buffers."""
    copied = copy.copy(module)
    copied._modules = {
        name: shallow_copy(child) if child is not None else None for name, child in module._modules.items()
    }
    copied._parameters, copied._buffers = module._parameters.copy(), module._buffers.copy()
    return copied


def attention_of(model: Transformer, head: Head) -> MultiHeadAttention:
    layers = model.encoder.layers if head.kind == "encoder" else model.decoder.layers
    if not (0 <= head.layer < len(layers) and 0 <= head.number < model.config.n_heads):
        heads = model.config.n_heads
        raise UserError(f"{head}: no such head; {head.kind} attention has {len(layers)} layers of {heads} heads")
    layer = cast(Layer, layers[head.layer])
    return layer.cross_attention if head.kind == "cross" else layer.self_attention
