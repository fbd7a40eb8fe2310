"""The stacks, and the whole model (paper, Figure 1)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.embedding import Embedding
from hark.model.init import initialise
from hark.model.layers import Layer
from hark.model.layout import Layout
from hark.model.patterns import Attend
from hark.model.positions import Positions, Rotation, build_positions
from hark.model.spec import StackSpec, encoder_decoder
from hark.model.ways import PLAIN, Stream, Way


class Stack(nn.Module):
    """A stack of N = 6 identical layers (paper, 3.1). Vectors in, vectors out: what they stand for (tokens, patches,
    frames) is for others to know."""

    def __init__(self, spec: StackSpec) -> None:
        super().__init__()
        self.spec = spec
        self.layers = nn.ModuleList(Layer(spec) for _ in range(spec.n_layers))
        # Pre-norm layers leave their sum unnormalised, so that a stack of them ends with a norm of its own.
        self.norm = nn.LayerNorm(spec.d_model) if spec.norm == "pre" else None

    def forward(
        self,
        x: Tensor,
        pattern: Attend,
        memory: Tensor | None = None,
        cross: Attend | None = None,
        rotation: Rotation | None = None,
        way: Way = PLAIN,
    ) -> Tensor:
        """`pattern` is that of self-attention, `cross` that of attention over `memory`, where layers have one."""
        for layer in self.layers:
            x = layer(x, pattern, memory, cross, rotation, way)
        return self.last_norm(x, way)

    def last_norm(self, x: Stream, way: Way) -> Tensor:
        return x if self.norm is None else way.norm(x, self.norm)[1]


class Transformer(nn.Module):
    """Encoder and decoder between embeddings and the output projection (paper, 3 and 3.4).

    The two embeddings and the projection before the softmax share one matrix. A matrix that is shared exists once,
    under the name `embedding`; the others are None. `way` is how the stacks are run, from `kernels.fuse` on with our
    own kernels.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        source_vocab_size = config.source_vocab_size or config.vocab_size
        self.embedding = Embedding(config.vocab_size, config.d_model)
        self.source_embedding = Embedding(source_vocab_size, config.d_model) if config.tie != "all" else None
        self.projection = nn.Linear(config.d_model, config.vocab_size, bias=False) if config.tie == "none" else None
        # The paper has no output bias. Those who have one, the Marian family, begin with zeros.
        self.output_bias = nn.Parameter(torch.zeros(config.vocab_size)) if config.output_bias else None
        encoder, decoder = encoder_decoder(config)
        self.source_positions, self.target_positions = build_positions(encoder), build_positions(decoder)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Stack(encoder)
        self.decoder = Stack(decoder)
        self.way: Way = PLAIN
        initialise(self)

    def embed(self, tokens: Tensor, embedding: Embedding, positions: Tensor, encoding: Positions) -> Tensor:
        """The sum of embeddings and positions (paper, 3.5), with dropout (5.4)."""
        return self.dropout(encoding.add(embedding(tokens), positions))

    def encode(self, source: Tensor, positions: Tensor, pattern: Attend) -> Tensor:
        """From symbols (x_1 .. x_n) to continuous representations (z_1 .. z_n), the memory (paper, 3)."""
        x = self.embed(source, self.source_embedding or self.embedding, positions, self.source_positions)
        return self.encoder(x, pattern, rotation=self.source_positions.rotation(positions), way=self.way)

    def decode(self, target: Tensor, memory: Tensor, positions: Tensor, pattern: Attend, cross: Attend) -> Tensor:
        """The decoder's last layer. The model is auto-regressive (paper, 3): `target` is the output so far, shifted
        right, so that it begins with the start token."""
        x = self.embed(target, self.embedding, positions, self.target_positions)
        rotation = self.target_positions.rotation(positions)
        return self.decoder(x, pattern, memory, cross, rotation, self.way)

    def logits(self, hidden: Tensor) -> Tensor:
        """What the softmax turns into probabilities of the next token (paper, 3.4)."""
        return F.linear(hidden, self.output_weight, self.output_bias)

    @property
    def output_weight(self) -> Tensor:
        return self.embedding.weight if self.projection is None else self.projection.weight

    def hidden(self, source: Tensor, target: Tensor, layout: Layout) -> Tensor:
        """The decoder's last layer, for both texts at once."""
        memory = self.encode(source, layout.source_positions, layout.encoder)
        return self.decode(target, memory, layout.target_positions, layout.decoder, layout.cross)

    def forward(self, source: Tensor, target: Tensor, layout: Layout) -> Tensor:
        return self.logits(self.hidden(source, target, layout))
