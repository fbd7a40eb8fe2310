"""Our own Triton kernels for operations that are slow in PyTorch (docs/speed.md).

They train on one GPU in 16 bits, captured as a CUDA graph (`train/passes.py`), because so many small kernels take
longer to launch than to run. Each has an equivalent in plain PyTorch, its reference in the tests. They are imported
only when used, because Triton is not installed everywhere.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

import torch

from hark.config import ModelConfig
from hark.errors import HarkError

if TYPE_CHECKING:
    from hark.model.interface import Model

WIDTHS = (16, 32, 64, 128)
"""Head widths that the kernels are tested with."""
LONGEST = 4096
"""The longest sequence that they are tested with."""


def available() -> bool:
    """Whether this machine has Triton and a GPU with bfloat16."""
    if find_spec("triton") is None or not torch.cuda.is_available():
        return False
    return torch.cuda.get_device_capability() >= (8, 0)


def cover(config: ModelConfig, longest: int) -> bool:
    """Whether the kernels are tested with these head widths and this length of sequences."""
    return config.k_width in WIDTHS and config.v_width in WIDTHS and longest <= LONGEST


def fuse(model: "Model", dtype: torch.dtype = torch.bfloat16) -> Callable[[], None]:
    """Switch a model to our kernels. Returns a function to call before each forward pass, which updates the 16-bit
    copies of the weights."""
    from hark.model.kernels.fused import FusedBackend

    if model.output_bias is not None:
        raise HarkError("our loss kernel does not support an output bias; train on the plain path")
    model.backend = backend = FusedBackend(model, dtype)
    return backend.refresh
