"""Captures the steps of an engine as CUDA graphs."""

from collections.abc import Callable

import torch


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
