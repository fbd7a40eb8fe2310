"""What an engine is asked and what it answers, in tokens. Standard library and numpy: no engine is known here."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hark.config import DecodeConfig
from hark.errors import HarkError


@dataclass(frozen=True)
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


@dataclass(frozen=True, eq=False)
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


class Engine(Protocol):
    """Decodes requests. The CLI, the server, documents and distillation are its clients, and nothing else decodes.

    Any thread may submit and cancel; one thread at a time steps. Where a request cannot be done, its error is its
    answer, and no other request is harmed.
    """

    name: str
    """For people: the engine and its precision."""

    @property
    def room(self) -> int:
        """Requests that it can use just now, besides those that wait already. More are accepted, and wait longer."""
        ...

    def submit(self, request: Request) -> int:
        """Queue a request; the id that its answer will bear."""
        ...

    def step(self) -> list[tuple[int, Answer]]:
        """Go on with what was submitted, for some milliseconds at most where there is nothing to compute; the answers
        that are ready, the best hypothesis first."""
        ...

    def cancel(self, number: int) -> None:
        """Forget a request: it is not answered, and what it takes up is free at the next step."""
        ...

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[int, Hypotheses]]:
        """Submit, step, and give the answers as they are ready, each with the place of its request in the iterable.

        For a client that has the engine to itself. An error is raised; whoever leaves early cancels the rest.
        """
        ...

    def score(self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Iterator[tuple[float, ...]]:
        """The log-probability of each token of given translations, EOS included, in order."""
        ...

    def close(self) -> None: ...
