"""Without oneDNN on ARM CPUs that lack bfloat16.

There, PyTorch passes matrix products to oneDNN, which prepares every call anew. On a Neoverse N1, a product of 64 x 64
x 64 takes 0.63 ms with it and 0.05 ms without, 64 x 256 x 256 takes 0.94 and 0.31 ms; large products take about as long
either way (docs/results/logs/training/onednn-arm.txt). CPUs with bfloat16 were not measured, and keep it.
"""

import platform

import torch

from hark.machine import cpu_features

ARM = ("aarch64", "arm64")


def avoid_slow_onednn() -> None:
    """Let PyTorch use BLAS alone, in this process, if that is known to be faster on this CPU."""
    features = cpu_features()
    if platform.machine().lower() in ARM and features and "bf16" not in features:
        torch.backends.mkldnn.set_flags(_enabled=False)
