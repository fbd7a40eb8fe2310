"""The paper's model: an encoder and a decoder (Figure 1).

The paper does not say how weights are initialised; `initialise` follows its published code.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.embedding import Embedding
from hark.model.interface import Model, Stack
from hark.model.layout import Layout
from hark.model.patterns import Attend
from hark.model.positions import Learned, build_positions
from hark.model.spec import encoder_decoder


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
        self.source_embedding = Embedding(source_vocab_size, d_model, scaled) if config.tie != "all" else None
        self.projection = nn.Linear(config.d_model, config.vocab_size, bias=False) if config.tie == "none" else None
        # The paper has no output bias. Marian models have one, initialised to zero.
        self.output_bias = nn.Parameter(torch.zeros(config.vocab_size)) if config.output_bias else None
        encoder, decoder = encoder_decoder(config).values()
        self.source_positions, self.target_positions = build_positions(encoder), build_positions(decoder)
        self.source_norm = nn.LayerNorm(d_model) if config.embedding_norm else None
        self.target_norm = nn.LayerNorm(d_model) if config.embedding_norm else None
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Stack(encoder)
        self.decoder = Stack(decoder)
        initialise(self)

    def embed_source(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """The input of the encoder: the sum of embeddings and positions (paper, 3.5), with dropout (5.4)."""
        embedding = self.source_embedding or self.embedding
        x = self.source_positions.add(embedding(tokens), positions)
        return self.dropout(x if self.source_norm is None else self.source_norm(x))

    def embed_target(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """The input of the decoder, as that of the encoder."""
        x = self.target_positions.add(self.embedding(tokens), positions)
        return self.dropout(x if self.target_norm is None else self.target_norm(x))

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

    def logits(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.output_weight, self.output_bias)

    @property
    def output_weight(self) -> Tensor:
        return self.embedding.weight if self.projection is None else self.projection.weight

    @property
    def stacks(self) -> Mapping[str, Stack]:
        return {"encoder": self.encoder, "decoder": self.decoder}

    def hidden(self, tokens: Mapping[str, Tensor], layout: Layout) -> Tensor:
        positions, patterns = layout.positions, layout.patterns
        memory = self.encode(tokens["source"], positions["source"], patterns["encoder"])
        return self.decode(tokens["target"], memory, positions["target"], patterns["decoder"], patterns["cross"])

    def forward(self, source: Tensor, target: Tensor, layout: Layout) -> Tensor:
        return self.logits(self.hidden({"source": source, "target": target}, layout))


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
            case Embedding():
                # Unit variance after scaling by sqrt(d_model), yet small enough for a tied output projection.
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
            case Learned():
                nn.init.normal_(module.weight, std=module.weight.shape[1] ** -0.5)
