"""The heads that tell which word stands for which. No torch, no engine."""

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
    """Heads of one decoder layer, whose mean cross-attention is the alignment, and the step at which they are asked.

    Of one layer, because CTranslate2 can tell the attention of no more. Layers and heads count from 0.
    """

    layer: int
    heads: tuple[int, ...]
    step: Step = "predicts"

    @classmethod
    def default(cls, config: ModelConfig) -> Self:
        """All heads of the last layer but one, where alignment is best found (Garg et al., 2019)."""
        return cls(max(0, config.n_decoder_layers - 2), tuple(range(config.n_heads)))

    @classmethod
    def of_facts(cls, facts: AlignmentFacts | None, config: ModelConfig) -> Self | None:
        """Those that `hark heads --store` found; None if it never ran."""
        if facts is None:
            return None
        if facts.layer >= config.n_decoder_layers or max(facts.heads) >= config.n_heads:
            raise UserError(
                f"facts.json: alignment: layer {facts.layer + 1} has no such heads in a decoder of "
                f"{config.n_decoder_layers} layers, {config.n_heads} heads each; store others with hark heads --store"
            )
        return cls(facts.layer, facts.heads, facts.step)

    def of_tokens(self, steps_TS: NDArray[Rows], tokens: int) -> NDArray[Rows]:
        """From the attention of the decoder's steps to that of the tokens of a translation.

        A translation that was cut off has no step that reads its last token; the last step stands in for it.
        """
        if self.step == "predicts":
            return steps_TS[:tokens]
        return steps_TS[np.minimum(np.arange(tokens) + 1, len(steps_TS) - 1)]
