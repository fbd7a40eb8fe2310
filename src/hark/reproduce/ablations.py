"""Models without a part of the paper's: no scaling of attention, no residual connections, no layer norm.

Nobody should train such a model except to see what the part is worth. So they are not settings: a model is built as
usual, and the modules concerned are replaced. Weights keep their names and shapes, so training, checkpoints, averaging
and the engine work unchanged. A bundle of such a model would be wrong everywhere else; experiments do not keep them.
"""

import math
from collections.abc import Callable

from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model import Transformer
from hark.model.attention import Memory, MultiHeadAttention
from hark.model.backends import PLAIN, Backend, Stream
from hark.model.layers import Residual
from hark.model.patterns import Attend
from hark.model.positions import Rotation


class UnscaledAttention(MultiHeadAttention):
    """`softmax(Q K^T) V`: equation 1 without the division by sqrt(d_k)."""

    def forward(
        self,
        x: Tensor,
        pattern: Attend,
        memory: Memory | None = None,
        rotation: Rotation | None = None,
        backend: Backend = PLAIN,
    ) -> Tensor:
        factor = math.sqrt(self.k_width)  # cancels the division in whichever kernel computes the pattern

        def unscaled(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return pattern(q * factor, k, v)

        return super().forward(x, unscaled, memory, rotation, backend)


class WithoutResidual(Residual):
    """`LayerNorm(Sublayer(x))`: nothing is added."""

    def forward(self, x: Stream, sublayer: Callable[[Tensor], Tensor], backend: Backend = PLAIN) -> Stream:  # noqa: ARG002
        s = sublayer(x)
        return self.norm(self.dropout(s)).to(s.dtype)  # autocast runs norms in float32, our kernels expect 16 bits


class WithoutNorm(Residual):
    """`x + Sublayer(x)`: the sum is not normalised. The weights of the norm exist but have no effect."""

    def forward(self, x: Stream, sublayer: Callable[[Tensor], Tensor], backend: Backend = PLAIN) -> Stream:  # noqa: ARG002
        # The norm enters with factor 0, because captured graphs and DDP need a gradient for every weight.
        s = sublayer(x)
        return (x + self.dropout(s) + 0 * (self.norm.weight + self.norm.bias)).to(s.dtype)


def build_unscaled(config: ModelConfig) -> Transformer:
    return replace_modules(Transformer(config), MultiHeadAttention, UnscaledAttention)


def build_without_residuals(config: ModelConfig) -> Transformer:
    return replace_modules(Transformer(config), Residual, WithoutResidual)


def build_without_norm(config: ModelConfig) -> Transformer:
    return replace_modules(Transformer(config), Residual, WithoutNorm)


def replace_modules(model: Transformer, kind: type[nn.Module], other: type[nn.Module]) -> Transformer:
    """Make every module of a class one of a subclass, which has the same weights and another `forward`."""
    assert issubclass(other, kind)
    for module in model.modules():
        if type(module) is kind:
            module.__class__ = other
    return model
