"""Tensors whole and spread: FSDP shares weights out, files hold them whole. So a run may resume on other processes."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor

from hark.errors import UserError
from hark.model import Transformer
from hark.model.weights import matched
from hark.train.optimiser import MovingAverage, Optimiser


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


def gather_optimiser(model: Transformer, optimiser: Optimiser) -> dict[str, Tensor]:
    return {
        f"{kind}.{name}": whole(tensor)
        for name, weight in model.named_parameters()
        for kind, tensor in optimiser.state(weight).items()
    }


def fill_optimiser(model: Transformer, optimiser: Optimiser, values: Mapping[str, Tensor], where: object) -> None:
    """The optimiser's state must have been allocated."""
    for name, weight in model.named_parameters():
        for kind, tensor in optimiser.state(weight).items():
            if f"{kind}.{name}" not in values:
                raise UserError(f"{where}: was saved by another optimiser than train.optimiser names; name that one")
            fill(tensor, values[f"{kind}.{name}"])


def gather_average(model: Transformer, average: MovingAverage) -> dict[str, Tensor]:
    return {name: whole(weight) for name, weight in zip(names(model), average.weights, strict=True)}


def fill_average(model: Transformer, average: MovingAverage, values: Mapping[str, Tensor]) -> None:
    for name, weight in zip(names(model), average.weights, strict=True):
        fill(weight, values[name])


def names(model: Transformer) -> Sequence[str]:
    return [name for name, _ in model.named_parameters()]
