"""What a model expects at one place of a text: the likeliest tokens, and how likely the one that is there was."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

LIKELY = 8
"""Number of candidates to record for each place."""


@dataclass(frozen=True)
class Expected:
    """What a model expects at one place of a text."""

    likely: tuple[tuple[int, float], ...]
    """The likeliest tokens, with their probabilities."""
    log_prob: float | None = None
    """Of the token that is there; None if there is none: a mask, or the end of the text."""
    rank: int | None = None
    """The rank of that token among all, from 1."""


def expectation(log_prob_V: Tensor, token: int | None) -> Expected:
    log_probs, tokens = log_prob_V.topk(min(LIKELY, len(log_prob_V)))
    likely = tuple(zip(tokens.tolist(), log_probs.exp().tolist(), strict=True))
    if token is None:
        return Expected(likely)
    return Expected(likely, float(log_prob_V[token]), 1 + int((log_prob_V > log_prob_V[token]).sum()))


def expectations(log_prob_TV: Tensor, tokens: Sequence[int | None]) -> list[Expected]:
    """What is expected in the place of each token; None stands for the end of the text."""
    return [expectation(each_V, token) for each_V, token in zip(log_prob_TV, tokens, strict=True)]
