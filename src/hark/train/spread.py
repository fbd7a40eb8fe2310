"""Tensors whole and spread: FSDP shares weights out, files hold them whole. So a run may resume on other processes."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor

from hark.model import Transformer
from hark.model.weights import matched
from hark.train.optimiser import Average, Optimiser

ADAM = ("exp_avg", "exp_avg_sq", "step")


def whole(tensor: Tensor) -> Tensor:
    """A tensor on the host, all of it. Every process must take part."""
    if isinstance(tensor, DTensor):
        tensor = tensor.full_tensor()
    return tensor.detach().to("cpu", copy=True)


@torch.no_grad()
def fill(tensor: Tensor, values: Tensor) -> None:
    """Put whole values into a tensor, wherever it lies."""
    if isinstance(tensor, DTensor):
        values = distribute_tensor(values.to(tensor.device), tensor.device_mesh, tensor.placements)
    tensor.copy_(values)


def gather_weights(model: Transformer) -> dict[str, Tensor]:
    return {name: whole(weight) for name, weight in model.named_parameters()}


def fill_weights(model: Transformer, values: Mapping[str, Tensor], where: object) -> None:
    for name, weight in matched(model, values, where):
        fill(weight, values[name])


def gather_adam(model: Transformer, optimiser: Optimiser) -> dict[str, Tensor]:
    state = optimiser.adam.state
    return {f"{kind}.{name}": whole(state[weight][kind]) for name, weight in model.named_parameters() for kind in ADAM}


def fill_adam(model: Transformer, optimiser: Optimiser, values: Mapping[str, Tensor]) -> None:
    """Adam's state must have been allocated."""
    for name, weight in model.named_parameters():
        for kind in ADAM:
            fill(optimiser.adam.state[weight][kind], values[f"{kind}.{name}"])


def gather_average(model: Transformer, average: Average) -> dict[str, Tensor]:
    return {name: whole(weight) for name, weight in zip(names(model), average.weights, strict=True)}


def fill_average(model: Transformer, average: Average, values: Mapping[str, Tensor]) -> None:
    for name, weight in zip(names(model), average.weights, strict=True):
        fill(weight, values[name])


def names(model: Transformer) -> Sequence[str]:
    return [name for name, _ in model.named_parameters()]
