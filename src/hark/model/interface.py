"""What training, checkpoints and looking inside ask of a model, whatever its stacks.

A model has stacks by name, and says which stack reads which token stream of a batch, and which stream it predicts. The
paper's has two of each (`transformer.Transformer`); a language model has one. Nothing outside this package assumes an
encoder, a decoder, a source or a target where any model would do.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.backends import PLAIN, Backend, Stream
from hark.model.layers import Layer
from hark.model.layout import Layout
from hark.model.patterns import Attend
from hark.model.positions import Rotation
from hark.model.spec import StackSpec


class Stack(nn.Module):
    """A stack of N = 6 identical layers (paper, 3.1). Maps vectors to vectors, whatever they represent: tokens, patches
    or frames."""

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        self.spec = spec
        self.layers = nn.ModuleList(Layer(spec) for _ in range(spec.n_layers))
        # The output of a pre-norm layer is not normalised, so a pre-norm stack needs a final norm.
        self.norm = nn.LayerNorm(spec.d_model) if spec.norm == "pre" else None

    def forward(
        self,
        x: Tensor,
        pattern: Attend,
        memory: Tensor | None = None,
        cross: Attend | None = None,
        rotation: Rotation | None = None,
        backend: Backend = PLAIN,
    ) -> Tensor:
        """`pattern` is for self-attention; `cross` is for attention over `memory`, if the layers have it."""
        for layer in self.layers:
            x = layer(x, pattern, memory, cross, rotation, backend)
        return self.last_norm(x, backend)

    def last_norm(self, x: Stream, backend: Backend) -> Tensor:
        return x if self.norm is None else backend.norm(x, self.norm)[1]


class Model(nn.Module, ABC):
    """Token streams in, by name; the hidden states and logits of the predicted stream out.

    `backend` runs the stacks; `kernels.fuse` switches it to our kernels.
    """

    reads: ClassVar[Mapping[str, str]]
    """The streams that it reads, each with the name of the stack that does."""
    predicts: ClassVar[str]
    """The stream whose next tokens it predicts."""

    config: ModelConfig
    backend: Backend = PLAIN

    @property
    @abstractmethod
    def stacks(self) -> Mapping[str, Stack]: ...

    @abstractmethod
    def hidden(self, tokens: Mapping[str, Tensor], layout: Layout) -> Tensor:
        """The output of the last layer for the predicted stream, from the tokens of every stream."""

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of the next token, before the softmax (paper, 3.4)."""

    @property
    @abstractmethod
    def output_weight(self) -> Tensor:
        """The matrix before the softmax, (V, D)."""
