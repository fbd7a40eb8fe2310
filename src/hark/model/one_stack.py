"""Models of one stack: a decoder that continues text (GPT), or an encoder that fills gaps in it (BERT) or labels it."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from hark.config import ModelConfig
from hark.model.embedding import Embedding
from hark.model.interface import Model, Stack, Streams, initialise
from hark.model.layers import LabelLayer, PredictionLayer, build_norm
from hark.model.layout import Layout, packed_text, padded_text
from hark.model.positions import build_positions
from hark.model.spec import StackSpec, stacks_of


class OneStack(Model):
    """One stack that reads the text that it predicts.

    A decoder sees the tokens before each one, the input being shifted by one position (Radford et al., 2018). An
    encoder sees both sides, so some of its input is hidden (Devlin et al., 2019), or it predicts labels instead: of the
    text at its first token, or of each word at the first of its tokens. Attributes have the names that they
    have in the paper's model, where these are of the target.
    """

    predicts = "target"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        ((self.name, spec),) = stacks_of(config).items()
        self.reads = {"target": self.name}
        self.embedding = Embedding(config.vocab_size, config.d_model, config.scale_embedding)
        has_bias = config.output_bias or config.labels
        self.projection = nn.Linear(config.d_model, config.n_outputs, bias=False) if config.separate_output else None
        self.output_bias = nn.Parameter(torch.zeros(config.n_outputs)) if has_bias else None
        self.target_positions = build_positions(spec)
        self.target_norm = build_norm(spec) if config.embedding_norm else None
        self.dropout = nn.Dropout(config.dropout)
        self.add_module(self.name, Stack(spec))
        self.prediction = self.build_prediction(spec)
        initialise(self)

    def build_prediction(self, spec: StackSpec) -> LabelLayer | PredictionLayer | None:
        """What stands between the last layer and the output projection, if anything."""
        if self.config.labels:
            return LabelLayer(spec, self.config.labels)
        return PredictionLayer(spec) if self.config.prediction_layer else None

    @property
    def stack(self) -> Stack:
        stack: Stack = self.get_submodule(self.name)  # type: ignore[assignment]
        return stack

    @property
    def stacks(self) -> Mapping[str, Stack]:
        return {self.name: self.stack}

    def packed_layout(self, cu: Streams, positions: Streams, longest: int, fused: bool = False) -> Layout:
        slots, causal = len(positions["target"]), self.stack.spec.causal
        return Layout(
            positions, {self.name: packed_text(cu["target"], slots, longest, self.target_positions, causal, fused)}
        )

    def padded_layout(self, lengths: Streams) -> Layout:
        positions_BT, pattern = padded_text(lengths["target"], self.target_positions, self.stack.spec.causal)
        return Layout({"target": positions_BT}, {self.name: pattern})

    def states(self, tokens: Tensor, layout: Layout) -> Tensor:
        """The output of the last layer."""
        positions = layout.positions["target"]
        rotation = self.target_positions.rotation(positions)
        x = self.embed_target(tokens, positions)
        return self.stack(x, layout.patterns[self.name], rotation=rotation, backend=self.backend)

    def hidden(self, tokens: Streams, layout: Layout) -> Tensor:
        return self.predicting(self.states(tokens["target"], layout))

    def predicting(self, states: Tensor) -> Tensor:
        """What the output projection reads: the states of tokens, after the layer that may precede it."""
        match self.prediction:
            case PredictionLayer():
                return self.prediction(states, self.backend)
            case LabelLayer():
                return self.prediction(states)
        return states

    def forward(self, tokens: Tensor, layout: Layout) -> Tensor:
        return self.logits(self.hidden({"target": tokens}, layout))
