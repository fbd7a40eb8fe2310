"""Converting between Marian's weights and ours: one to one, up to the order of the features.

Marian puts all sines of the positions before all cosines; the paper alternates them. Permuting every axis of width
d_model on the residual stream gives the same model: layer norm, and the products that read from the stream or write to
it, do not depend on the order. Tensors are named as in `hark.model`.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from benchmarks.peers import Marian

ATTENTION = {"w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "out_proj"}
READS, WRITES = ("w_q", "w_k", "w_v", "w_1"), ("w_o", "w_2", "norm")
"""Modules whose input (the last axis of their weights) or output (the first, and the bias) is the residual stream."""


def parts_of(layer: nn.Module) -> dict[str, str]:
    """Marian's name for each of our modules with weights in a layer."""
    attentions = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
    parts = {"feed_forward.w_1": "fc1", "feed_forward.w_2": "fc2", "feed_forward_residual.norm": "final_layer_norm"}
    for ours, theirs in attentions.items():
        if hasattr(layer, theirs):
            parts |= {f"{ours}.{w}": f"{theirs}.{proj}" for w, proj in ATTENTION.items()}
            parts[f"{ours}_residual.norm"] = f"{theirs}_layer_norm"
    return parts


def our_names(marian: Marian) -> dict[str, str]:
    """Our name for each trained weight of Marian, by Marian's name."""
    names = {id(weight): name for name, weight in marian.named_parameters() if weight.requires_grad}
    ours_by_theirs = {names.pop(id(weight)): name for name, weight in weights_of(marian)}
    if names:
        raise ValueError(f"unknown weights in this version of transformers: {', '.join(names.values())}")
    return ours_by_theirs


def weights_of(marian: Marian) -> Iterator[tuple[str, nn.Parameter]]:
    inner = marian.model.model
    yield "embedding.weight", inner.shared.weight
    for stack in ("encoder", "decoder"):
        for number, layer in enumerate(getattr(inner, stack).layers):
            for ours, theirs in parts_of(layer).items():
                for kind, weight in layer.get_submodule(theirs).named_parameters():
                    yield f"{stack}.layers.{number}.{ours}.{kind}", weight


def to_ours(marian: Marian, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convert to our names, with features in the paper's order."""
    order_D = paper_order(marian)
    return {ours: reorder(ours, values[theirs], order_D) for theirs, ours in our_names(marian).items()}


def to_theirs(marian: Marian, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    order_D = paper_order(marian).argsort()
    return {theirs: reorder(ours, values[ours], order_D) for theirs, ours in our_names(marian).items()}


def paper_order(marian: Marian) -> Tensor:
    """The index in Marian's order of each of our features."""
    half = marian.model.config.d_model // 2
    return torch.stack([torch.arange(half), half + torch.arange(half)], dim=1).flatten()


def reorder(our_name: str, weight: Tensor, order_D: Tensor) -> Tensor:
    module, kind = our_name.split(".")[-2:]
    order_D = order_D.to(weight.device)
    if module == "embedding" or (module in READS and kind == "weight"):
        return weight.index_select(-1, order_D)
    return weight.index_select(0, order_D) if module in WRITES else weight
