"""Asynchronous copies between host and device."""

from collections.abc import Callable

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


class Recorder:
    """Captures functions as CUDA graphs that share their memory, since only one runs at a time.

    All are captured on one stream: cuBLAS keeps a workspace for every stream that it has seen (32 MiB on an H200), and
    never frees it.
    """

    def __init__(self) -> None:
        self.pool = torch.cuda.MemPool()  # outlives the graphs, which a mere handle does not
        self.stream = torch.cuda.Stream()

    def record(self, function: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """Call a function twice, as libraries choose algorithms and kernels are compiled in the first call; then
        capture it."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(2):
                function()
        torch.cuda.current_stream().wait_stream(self.stream)
        graph = torch.cuda.CUDAGraph()
        # Other threads, such as a server's, may keep using the device.
        mode = "thread_local"
        with torch.cuda.graph(graph, pool=self.pool.id, stream=self.stream, capture_error_mode=mode):  # type: ignore[arg-type]
            function()
        return graph
