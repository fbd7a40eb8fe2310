"""The attention heads that the word alignment is read from. Imports neither torch nor an engine."""

from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hark.config import ModelConfig
from hark.errors import UserError
from hark.facts import AlignmentFacts, AlignmentStep

Step = AlignmentStep
Rows = TypeVar("Rows", bound=np.generic)


@dataclass(frozen=True)
class AlignmentHeads:
    """Heads of one decoder layer whose mean cross-attention gives the alignment, and the step to read it at.

    Only one layer, because CTranslate2 returns the attention of a single layer. Layers and heads count from 0.
    """

    layer: int
    heads: tuple[int, ...]
    step: Step = "predicts"

    @classmethod
    def default(cls, config: ModelConfig) -> Self:
        """All heads of the penultimate layer, which usually aligns best (Garg et al., 2019)."""
        return cls(max(0, config.n_decoder_layers - 2), tuple(range(config.n_heads)))

    @classmethod
    def of_facts(cls, facts: AlignmentFacts | None, config: ModelConfig) -> Self | None:
        """The heads stored by `hark heads --store`; None if there are none."""
        if facts is None:
            return None
        if facts.layer >= config.n_decoder_layers or max(facts.heads) >= config.n_heads:
            raise UserError(
                f"facts.json: alignment heads of layer {facts.layer + 1} are out of range for a decoder of "
                f"{config.n_decoder_layers} layers with {config.n_heads} heads; run hark heads --store"
            )
        return cls(facts.layer, facts.heads, facts.step)

    def of_tokens(self, steps_TS: NDArray[Rows], tokens: int) -> NDArray[Rows]:
        """Select, from the attention of the decoder's steps, the row of each token of a translation.

        No step reads the last token of a truncated translation; the last step is used instead.
        """
        if self.step == "predicts":
            return steps_TS[:tokens]
        return steps_TS[np.minimum(np.arange(tokens) + 1, len(steps_TS) - 1)]
