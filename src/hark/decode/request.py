"""What an engine is asked and what it answers, in tokens. Standard library and numpy: no engine is known here."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hark.config import DecodeConfig
from hark.errors import HarkError


@dataclass(frozen=True, slots=True)
class Request:
    """One sentence to translate."""

    source: Sequence[int]
    """As the encoder sees it: a language tag first, if the model wants one; EOS last."""
    search: DecodeConfig = field(default_factory=DecodeConfig)
    prefix: Sequence[int] = ()
    """Target tokens that the translation must begin with."""
    banned: Sequence[int] = ()
    """Target tokens that it must not contain. Padding, unknown and start are never produced anyhow."""
    attention: bool = False
    """Whether to give cross-attention with the answer."""
    urgent: bool = False
    """Whether a person waits for it: it enters before those that are not urgent."""

    @property
    def limit(self) -> int:
        """Tokens that the translation may have, its end included: the input's length + 50 (paper, 6.1)."""
        return len(self.source) + self.search.max_extra


@dataclass(frozen=True, eq=False, slots=True)
class Hypothesis:
    """One translation."""

    tokens: tuple[int, ...]
    """With the prefix, without start and EOS."""
    log_prob: float
    """Of the tokens after the prefix, EOS included."""
    score: float
    """What hypotheses are ranked by: `log_prob / length_penalty`."""
    complete: bool
    """Whether it ended by itself, or was cut off at the limit."""
    attention_TS: NDArray[np.float32] | None = None
    """Where each token (not the end) looked at in the source, as the mean of the heads that align best."""


Hypotheses = tuple[Hypothesis, ...]
Answer = Hypotheses | HarkError
"""What was found for a request, or why it cannot be done."""


def length_penalty(length: int, alpha: float) -> float:
    """`((5 + length) / 6)^alpha` (Wu et al., 2016), with the length in tokens after the prefix, the end included."""
    return float(((5 + length) / 6) ** alpha)
