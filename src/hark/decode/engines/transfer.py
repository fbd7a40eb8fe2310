"""Asynchronous copies between host and device."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class PendingCopy:
    """Tensors that are being copied to the host; `get` waits for them."""

    def __init__(self, *tensors: Tensor) -> None:
        self.event: torch.cuda.Event | None = None
        self.tensors = tensors
        if tensors[0].is_cuda:
            self.tensors = tuple(torch.empty(x.shape, dtype=x.dtype, pin_memory=True) for x in tensors)
            for here, there in zip(self.tensors, tensors, strict=True):
                here.copy_(there, non_blocking=True)
            self.event = torch.cuda.Event()
            self.event.record()

    def get(self) -> tuple[Tensor, ...]:
        if self.event is not None:
            self.event.synchronize()
        return self.tensors


def send(array: NDArray[np.generic], device: torch.device) -> Tensor:
    """Copy an array to the device without synchronising."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor
