"""What an engine is asked and what it answers, in tokens. Standard library and numpy: no engine is known here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hark.config import DecodeConfig


@dataclass(frozen=True)
class Request:
    """One sentence to translate."""

    source: Sequence[int]
    """As the encoder sees it: language tag, if the model wants one, first; the mark of the end last."""
    search: DecodeConfig = field(default_factory=DecodeConfig)
    prefix: Sequence[int] = ()
    """Target tokens that the translation must begin with."""
    banned: Sequence[int] = ()
    """Target tokens that it must not contain. Padding, unknown and start are never produced anyhow."""
    attention: bool = False
    """Whether to give cross-attention with the answer."""

    @property
    def limit(self) -> int:
        """Tokens that the translation may have, its end included: the input's length + 50 (paper, 6.1)."""
        return len(self.source) + self.search.max_extra


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One translation."""

    tokens: tuple[int, ...]
    """With the prefix, without the marks of start and end."""
    log_prob: float
    """Of the tokens after the prefix, the end included."""
    score: float
    """What hypotheses are ranked by: `log_prob / length_penalty`."""
    complete: bool
    """Whether it ended by itself, or was cut off at the limit."""
    attention_TS: NDArray[np.float32] | None = None
    """Where each token (not the end) looked at in the source, as the mean of the heads that align best."""


def length_penalty(length: int, alpha: float) -> float:
    """`((5 + length) / 6)^alpha` (Wu et al., 2016), with the length in tokens after the prefix, the end included."""
    return float(((5 + length) / 6) ** alpha)


class Engine(Protocol):
    """Translates tokens. The translator and the server are its users; each kind of device has its own."""

    name: str
    """For people: the engine and its precision."""

    def run(self, requests: Iterable[Request | None]) -> Iterator[tuple[int, tuple[Hypothesis, ...]]]:
        """Answers as they are ready, each with the number of its request; the best hypothesis first.

        Requests are taken as there is room for them, never all at once, so that a stream may be without end. None says
        that nothing is waiting just now: what is under way goes on, and the iterator is asked again.
        """
        ...

    def score(self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Iterator[tuple[float, ...]]:
        """The log-probability of each token of given translations, their end included, in order."""
        ...

    def close(self) -> None: ...
