"""The heads that tell which word stands for which, as a model's card names them. No torch, no engine."""

import re
from dataclasses import dataclass
from typing import Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hark.bundle import with_entry
from hark.config import ModelConfig
from hark.errors import UserError

Step = Literal["predicts", "reads"]
"""A token is the output of one step of the decoder and the input of the next. At the first the decoder looks for
what to say, at the second it knows what was said."""
Rows = TypeVar("Rows", bound=np.generic)

TITLE = "- Alignment heads:"
LINE = re.compile(rf"{TITLE} (\d+:\d+(?:, \d+:\d+)*), at the step that (predicts|reads) a word\b")


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
    def of_card(cls, card: str, config: ModelConfig) -> Self | None:
        """Those that a card names; none if it names none."""
        line = next((line for line in card.splitlines() if line.startswith(TITLE)), None)
        if line is None:
            return None
        found = LINE.match(line)
        names = [tuple(int(part) - 1 for part in name.split(":")) for name in found[1].split(", ")] if found else []
        layers = {layer for layer, _ in names}
        if (
            found is None
            or len(layers) != 1
            or not all(0 <= layer < config.n_decoder_layers and 0 <= head < config.n_heads for layer, head in names)
        ):
            raise UserError(
                "card.md: its line of alignment heads makes no sense for this model; hark heads --store writes one"
            )
        return cls(layers.pop(), tuple(head for _, head in names), "reads" if found[2] == "reads" else "predicts")

    def line(self, note: str) -> str:
        """The card's line."""
        names = ", ".join(f"{self.layer + 1}:{head + 1}" for head in self.heads)
        return f"{TITLE} {names}, at the step that {self.step} a word; {note}"

    def of_tokens(self, steps_TS: NDArray[Rows], tokens: int) -> NDArray[Rows]:
        """From the attention of the decoder's steps to that of the tokens of a translation.

        A translation that was cut off has no step that reads its last token; the last step stands in for it.
        """
        if self.step == "predicts":
            return steps_TS[:tokens]
        return steps_TS[np.minimum(np.arange(tokens) + 1, len(steps_TS) - 1)]


def with_alignment_heads(card: str, line: str) -> str:
    """A card with its line of alignment heads replaced, or added to its entries."""
    others = [each for each in card.splitlines() if not each.startswith(TITLE)]
    return with_entry("\n".join(others), line)
