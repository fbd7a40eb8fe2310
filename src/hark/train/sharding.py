"""Gathering and scattering FSDP-sharded tensors. Files hold whole tensors, so a run can resume on any number of
processes."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeGuard

import torch
from torch import Tensor

from hark.errors import UserError
from hark.model import Model
from hark.model.weights import match_weights
from hark.train.optimiser import MovingAverage, Optimiser

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor


def is_sharded(tensor: Tensor) -> "TypeGuard[DTensor]":
    """FSDP imports the module of sharded tensors, which takes a second; without it there are none."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)


def gather(tensor: Tensor) -> Tensor:
    """Return the whole tensor on the host. Every process must take part."""
    if is_sharded(tensor):
        tensor = tensor.full_tensor()
    return tensor.detach().to("cpu", copy=True)


@torch.no_grad()
def fill(tensor: Tensor, values: Tensor) -> None:
    """Copy whole values into a tensor, sharded or not."""
    if is_sharded(tensor):
        from torch.distributed.tensor import distribute_tensor

        values = distribute_tensor(values.to(tensor.device), tensor.device_mesh, tensor.placements)
    tensor.copy_(values)


def gather_weights(model: Model) -> dict[str, Tensor]:
    return {name: gather(weight) for name, weight in model.named_parameters()}


def fill_weights(model: Model, values: Mapping[str, Tensor], where: object) -> None:
    for name, weight in match_weights(model, values, where):
        fill(weight, values[name])


def gather_optimiser(model: Model, optimiser: Optimiser) -> dict[str, Tensor]:
    return {
        f"{kind}.{name}": gather(tensor)
        for name, weight in model.named_parameters()
        for kind, tensor in optimiser.state(weight).items()
    }


def fill_optimiser(model: Model, optimiser: Optimiser, values: Mapping[str, Tensor], where: object) -> None:
    """The optimiser's state must have been allocated."""
    for name, weight in model.named_parameters():
        for kind, tensor in optimiser.state(weight).items():
            if f"{kind}.{name}" not in values:
                raise UserError(
                    f"{where}: saved by another optimiser; set train.optimiser to the one that the run started with"
                )
            fill(tensor, values[f"{kind}.{name}"])


def gather_average(model: Model, average: MovingAverage) -> dict[str, Tensor]:
    named = zip(model.named_parameters(), average.weights, strict=True)
    return {name: gather(mean) for (name, _), mean in named}


def fill_average(model: Model, average: MovingAverage, values: Mapping[str, Tensor]) -> None:
    for (name, _), mean in zip(model.named_parameters(), average.weights, strict=True):
        fill(mean, values[name])
