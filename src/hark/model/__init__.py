"""The Transformer (Vaswani et al., 2017, section 3). Depends on torch and the settings, and assumes nothing about text.

The names of tensors end with their shape, with one legend for the whole package:
B sentences, S source, T target, N packed tokens, D width, F feed-forward, H heads, K head width, V vocabulary,
W beam, R rows (B*W). Without a suffix, the leading axes may be (B, T) or (N).
"""

from hark.errors import require

require("torch", extra="train", needed_by="hark.model")

from hark.model.building import new_model  # noqa: E402
from hark.model.interface import Model, Stack  # noqa: E402
from hark.model.layout import Layout, packed_layout, padded_layout  # noqa: E402
from hark.model.one_stack import OneStack  # noqa: E402
from hark.model.onednn import avoid_slow_onednn  # noqa: E402
from hark.model.spec import StackSpec, stacks_of  # noqa: E402
from hark.model.transformer import Transformer  # noqa: E402

avoid_slow_onednn()

__all__ = [
    "Layout",
    "Model",
    "OneStack",
    "Stack",
    "StackSpec",
    "Transformer",
    "new_model",
    "packed_layout",
    "padded_layout",
    "stacks_of",
]
