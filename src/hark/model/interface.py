"""What training, checkpoints and looking inside ask of a model, whatever its stacks.

A model has stacks by name, and says which stack reads which token stream of a batch, and which stream it predicts. The
paper's has two of each (`transformer.Transformer`); a language model has one. Nothing outside this package assumes an
encoder, a decoder, a source or a target where any model would do.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.backends import PLAIN, Backend, Norm, Stream
from hark.model.embedding import Embedding
from hark.model.layers import Layer, build_norm
from hark.model.layout import Layout
from hark.model.patterns import Attend
from hark.model.positions import Learned, Positions, Relative, Rotation
from hark.model.spec import StackSpec

HEAD = ("prediction.", "projection.", "output_bias")
"""How the names of weights after the last layer begin. A model that predicts other things has its own."""
Streams = Mapping[str, Tensor]
"""A tensor for each token stream, by name."""


class Stack(nn.Module):
    """A stack of N = 6 identical layers (paper, 3.1). Maps vectors to vectors, whatever they represent: tokens, patches
    or frames."""

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        self.spec = spec
        self.layers = nn.ModuleList(Layer(spec) for _ in range(spec.n_layers))
        # The output of a pre-norm layer is not normalised, so a pre-norm stack needs a final norm.
        self.norm = build_norm(spec) if spec.norm == "pre" else None

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

    reads: Mapping[str, str]
    """The streams that it reads, each with the name of the stack that does."""
    predicts: ClassVar[str]
    """The stream whose next tokens it predicts."""

    config: ModelConfig
    backend: Backend = PLAIN
    embedding: Embedding
    """Of the predicted stream, as are the positions and the norm of their sum."""
    target_positions: Positions
    target_norm: Norm | None
    dropout: nn.Dropout
    projection: nn.Linear | None
    """Before the softmax, unless the embedding serves for that, too."""
    output_bias: nn.Parameter | None

    @property
    @abstractmethod
    def stacks(self) -> Mapping[str, Stack]: ...

    @abstractmethod
    def hidden(self, tokens: Streams, layout: Layout) -> Tensor:
        """The output of the last layer for the predicted stream, from the tokens of every stream."""

    @abstractmethod
    def packed_layout(self, cu: Streams, positions: Streams, longest: int, fused: bool = False) -> Layout:
        """The layout of sentences end to end: the cumulative lengths and positions of each stream. `longest` bounds the
        lengths, so that nothing waits for the device; `fused` selects our own kernels."""

    @abstractmethod
    def padded_layout(self, lengths: Streams) -> Layout:
        """The layout of one sentence per row, padded at the end to the longest."""

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits of the next token, before the softmax (paper, 3.4); or of a label, for each token."""
        return F.linear(hidden, self.output_weight, self.output_bias)

    @property
    def output_weight(self) -> Tensor:
        """The matrix before the softmax, (V, D); V are labels if the model predicts these."""
        return self.embedding.weight if self.projection is None else self.projection.weight

    def embed_target(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """The input of the stack that reads the predicted stream: the sum of embeddings and positions (paper, 3.5),
        with dropout (5.4)."""
        x = self.target_positions.add(self.embedding(tokens), positions)
        return self.dropout(x if self.target_norm is None else self.target_norm(x))


def initialise(model: nn.Module) -> None:
    """Initialise every weight from torch's random generator; seed that first."""
    for module in model.modules():
        match module:
            case nn.Linear():
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            case nn.LayerNorm():
                nn.init.ones_(module.weight)
                nn.init.zeros_(module.bias)
            case nn.RMSNorm():
                nn.init.ones_(module.weight)
            case Embedding():
                # Unit variance after scaling by sqrt(d_model), yet small enough for a tied output projection.
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
            case Learned():
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
            case Relative():
                nn.init.zeros_(module.weight)
