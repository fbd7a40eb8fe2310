"""Our own kernels, in Triton: for what PyTorch's own leave slow (docs/speed.md says what, and why).

They are made for training on one GPU in 16 bits, recorded as a CUDA graph (`train/passes.py`), because so many small
kernels take a host longer to start than a GPU to run. Each has a plain twin in PyTorch, its oracle in the tests.
Nothing here is imported unless it is used, because Triton is not everywhere.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

import torch

from hark.config import ModelConfig
from hark.errors import HarkError

if TYPE_CHECKING:
    from hark.model.transformer import Transformer

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


def fuse(model: "Transformer", dtype: torch.dtype = torch.bfloat16) -> Callable[[], None]:
    """Let a model run with our kernels from now on. To be called at the start of each forward pass: what is returned,
    which brings the weights' copies in 16 bits up to date."""
    from hark.model.kernels.fused import FusedWay

    if model.output_bias is not None:
        raise HarkError("our loss kernel knows no output bias; train on the plain path")
    model.way = way = FusedWay(model, dtype)
    return way.refresh
