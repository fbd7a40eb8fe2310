"""Our own kernels, in Triton: for what PyTorch's own leave slow (docs/speed.md says what, and why).

They are made for training on one GPU in 16 bits, recorded as a CUDA graph (`train/passes.py`), because so many small
kernels take a host longer to start than a GPU to run. Each has a plain twin in PyTorch, its oracle in the tests.
Nothing here is imported unless it is used, because Triton is not everywhere.
"""

from collections.abc import Callable
from importlib.util import find_spec

import torch
from torch import Tensor, nn

from hark.config import ModelConfig

WIDTHS = (16, 32, 64, 128)
"""Head widths that the kernels are tested with."""
LONGEST = 512
"""Sentences up to this length; longer ones are left to the flash kernel, which is made for them."""


def available() -> bool:
    """Whether this machine can run them: Triton, and a GPU that knows bfloat16."""
    if find_spec("triton") is None or not torch.cuda.is_available():
        return False
    return torch.cuda.get_device_capability() >= (8, 0)


def cover(config: ModelConfig, longest: int) -> bool:
    """Whether a model's heads and sentences are of sizes that they are tested with."""
    return config.k_width == config.v_width in WIDTHS and longest <= LONGEST


def fuse(model: nn.Module, dtype: torch.dtype = torch.bfloat16) -> Callable[[], None]:
    """Let every part of a model use the kernels that there are for it. To be called at the start of each forward pass:
    what is returned, which brings the weights' copies in 16 bits up to date, all in one go."""
    pairs: list[tuple[Tensor, Tensor]] = []
    for module in model.modules():
        if hasattr(module, "fuse"):
            pairs += module.fuse(dtype)  # type: ignore[operator]
    wide, narrow = [each for each, _ in pairs], [each for _, each in pairs]

    @torch.no_grad()
    def refresh() -> None:
        torch._foreach_copy_(narrow, wide)

    return refresh
