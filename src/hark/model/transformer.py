"""The paper's model: an encoder and a decoder (Figure 1).

The paper does not say how weights are initialised; `interface.initialise` follows its published code.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.embedding import Embedding
from hark.model.interface import Model, Stack, Streams, initialise
from hark.model.layers import build_norm
from hark.model.layout import Layout, packed_layout, padded_layout
from hark.model.patterns import Attend
from hark.model.positions import build_positions
from hark.model.spec import stacks_of


class Transformer(Model):
    """Encoder and decoder between embeddings and the output projection (paper, 3 and 3.4).

    The two embeddings and the projection before the softmax share one matrix. A shared matrix exists once, as
    `embedding`; the other attributes are None.
    """

    reads = {"source": "encoder", "target": "decoder"}  # noqa: RUF012
    predicts = "target"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        source_vocab_size = config.source_vocab_size or config.vocab_size
        d_model, scaled = config.d_model, config.scale_embedding
        self.embedding = Embedding(config.vocab_size, d_model, scaled)
        self.source_embedding = Embedding(source_vocab_size, d_model, scaled) if config.separate_source else None
        self.projection = nn.Linear(config.d_model, config.vocab_size, bias=False) if config.separate_output else None
        # The paper has no output bias. Marian models have one, initialised to zero.
        self.output_bias = nn.Parameter(torch.zeros(config.vocab_size)) if config.output_bias else None
        encoder, decoder = stacks_of(config).values()
        self.source_positions, self.target_positions = build_positions(encoder), build_positions(decoder)
        self.source_norm = build_norm(encoder) if config.embedding_norm else None
        self.target_norm = build_norm(encoder) if config.embedding_norm else None
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Stack(encoder)
        self.decoder = Stack(decoder)
        initialise(self)

    def embed_source(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """The input of the encoder, as that of the decoder."""
        embedding = self.source_embedding or self.embedding
        x = self.source_positions.add(embedding(tokens), positions)
        return self.dropout(x if self.source_norm is None else self.source_norm(x))

    def encode(self, source: Tensor, positions: Tensor, pattern: Attend) -> Tensor:
        """Map symbols (x_1 .. x_n) to continuous representations (z_1 .. z_n), the memory (paper, 3)."""
        x = self.embed_source(source, positions)
        return self.encoder(x, pattern, rotation=self.source_positions.rotation(positions), backend=self.backend)

    def decode(self, target: Tensor, memory: Tensor, positions: Tensor, pattern: Attend, cross: Attend) -> Tensor:
        """The output of the decoder's last layer. The model is auto-regressive (paper, 3): `target` is the output so
        far, shifted right, so it begins with the start token."""
        x = self.embed_target(target, positions)
        rotation = self.target_positions.rotation(positions)
        return self.decoder(x, pattern, memory, cross, rotation, self.backend)

    @property
    def stacks(self) -> Mapping[str, Stack]:
        return {"encoder": self.encoder, "decoder": self.decoder}

    def packed_layout(self, cu: Streams, positions: Streams, longest: int, fused: bool = False) -> Layout:
        streams = cu["source"], cu["target"], positions["source"], positions["target"]
        return packed_layout(*streams, longest, fused, self.source_positions, self.target_positions)

    def padded_layout(self, lengths: Streams) -> Layout:
        return padded_layout(lengths["source"], lengths["target"], self.source_positions, self.target_positions)

    def hidden(self, tokens: Streams, layout: Layout) -> Tensor:
        positions, patterns = layout.positions, layout.patterns
        memory = self.encode(tokens["source"], positions["source"], patterns["encoder"])
        return self.decode(tokens["target"], memory, positions["target"], patterns["decoder"], patterns["cross"])

    def forward(self, source: Tensor, target: Tensor, layout: Layout) -> Tensor:
        return self.logits(self.hidden({"source": source, "target": target}, layout))
