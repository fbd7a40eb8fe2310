"""The stacks, and the whole model (paper, Figure 1)."""

import torch.nn.functional as F
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.embedding import Embedding
from hark.model.init import initialise
from hark.model.layers import DecoderLayer, EncoderLayer, FinalNorm
from hark.model.layout import Layout
from hark.model.patterns import Pattern
from hark.model.positions import Positions, Rotation, build_positions


def final_norm(config: ModelConfig) -> nn.Module:
    return FinalNorm(config.d_model) if config.norm == "pre" else nn.Identity()


class Encoder(nn.Module):
    """A stack of N = 6 identical layers (paper, 3.1). Vectors in, vectors out: what they stand for (tokens, patches,
    frames) is for others to know."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_encoder_layers))
        self.norm = final_norm(config)

    def forward(self, x: Tensor, pattern: Pattern, rotation: Rotation | None = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, pattern, rotation)
        return self.norm(x)


class Decoder(nn.Module):
    """A stack of N = 6 identical layers (paper, 3.1). The causal pattern, together with inputs that are shifted by one
    position, lets the prediction for position i depend on the known outputs before i only."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        self.norm = final_norm(config)

    def forward(
        self, x: Tensor, memory: Tensor, pattern: Pattern, cross: Pattern, rotation: Rotation | None = None
    ) -> Tensor:
        for layer in self.layers:
            x = layer(x, memory, pattern, cross, rotation)
        return self.norm(x)


class Transformer(nn.Module):
    """Encoder and decoder between embeddings and the output projection (paper, 3 and 3.4).

    The two embeddings and the projection before the softmax share one matrix. A matrix that is shared exists once,
    under the name `embedding`; the others are None.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        source_vocab_size = config.source_vocab_size or config.vocab_size
        self.embedding = Embedding(config.vocab_size, config.d_model)
        self.source_embedding = Embedding(source_vocab_size, config.d_model) if config.tie != "all" else None
        self.projection = nn.Linear(config.d_model, config.vocab_size, bias=False) if config.tie == "none" else None
        self.output_bias: nn.Parameter | None = None
        self.source_positions, self.target_positions = build_positions(config), build_positions(config)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        initialise(self)

    def embed(self, tokens: Tensor, embedding: Embedding, positions: Tensor, encoding: Positions) -> Tensor:
        """The sum of embeddings and positions (paper, 3.5), with dropout (5.4)."""
        return self.dropout(encoding.add(embedding(tokens), positions))

    def encode(self, source: Tensor, positions: Tensor, pattern: Pattern) -> Tensor:
        """From symbols (x_1 .. x_n) to continuous representations (z_1 .. z_n), the memory (paper, 3)."""
        x = self.embed(source, self.source_embedding or self.embedding, positions, self.source_positions)
        return self.encoder(x, pattern, self.source_positions.rotation(positions))

    def decode(self, target: Tensor, memory: Tensor, positions: Tensor, pattern: Pattern, cross: Pattern) -> Tensor:
        """The decoder's last layer. The model is auto-regressive (paper, 3): `target` is the output so far, shifted
        right, so that it begins with the start token."""
        x = self.embed(target, self.embedding, positions, self.target_positions)
        rotation = self.target_positions.rotation(positions)
        return self.decoder(x, memory, pattern, cross, rotation)

    def logits(self, hidden: Tensor) -> Tensor:
        """What the softmax turns into probabilities of the next token (paper, 3.4)."""
        return F.linear(hidden, self.output_weight)

    @property
    def output_weight(self) -> Tensor:
        return self.embedding.weight if self.projection is None else self.projection.weight

    def hidden(self, source: Tensor, target: Tensor, layout: Layout) -> Tensor:
        """The decoder's last layer, for both texts at once."""
        memory = self.encode(source, layout.source_positions, layout.encoder)
        return self.decode(target, memory, layout.target_positions, layout.decoder, layout.cross)

    def forward(self, source: Tensor, target: Tensor, layout: Layout) -> Tensor:
        return self.logits(self.hidden(source, target, layout))
