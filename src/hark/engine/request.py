"""Decoding requests and answers, in token ids. Depends on the standard library and numpy only, not on any engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hark.config import DecodeConfig
from hark.errors import HarkError

BULK_EVERY = 8
"""While both kinds wait, a bulk request has its turn after seven urgent ones have passed it."""


class TreeSymbols(NamedTuple):
    """The tokens of linearised trees in a vocabulary."""

    word: tuple[int, ...]
    """Part-of-speech tags, each of which stands for a word."""
    close: int
    opening: tuple[int, ...]
    longest_run: int = 8
    """Maximum number of opening brackets in a row. Penn Treebank and GUM have at most 6."""


class TreeConstraint(NamedTuple):
    """Restricts the output to linearised trees over a number of words."""

    symbols: TreeSymbols
    words: int


@dataclass(frozen=True, slots=True)
class Request:
    """One sentence to translate, or one text to continue."""

    source: Sequence[int]
    """Encoder input: a language tag first, if the model needs one; EOS last. Empty for a model without encoder."""
    search: DecodeConfig = DecodeConfig()
    prefix: Sequence[int] = ()
    """Target tokens that the translation must start with. For a model without encoder, the text to continue."""
    banned: Sequence[int] = ()
    """Target tokens that it must not contain. Padding, unknown and start are never produced."""
    tree: TreeConstraint | None = None
    """If set, the output is a linearised tree."""
    attention: bool = False
    """Whether to return cross-attention with the answer."""
    urgent: bool = False
    """Whether it is interactive; urgent requests are scheduled first."""
    start: int | None = None
    """The decoder's first input; None: the vocabulary's start token. GPT-2 reads a text without one: its first token is
    the first input then, and `prefix` the others."""
    stream: bool = False
    """Whether `Engine.news` reports tokens before the answer, if the search has one hypothesis at a time."""
    alternatives: int | None = None
    """Return the log-probability of each token, and this many of the likeliest tokens in its place; None: neither."""
    scores_prefix: bool = False
    """Whether to return these of the tokens of the prefix, too."""
    longest: int | None = None
    """Maximum length of the output in tokens, EOS included; None: the input's length + `search.max_extra`."""

    @property
    def limit(self) -> int:
        """Maximum length of the translation in tokens, EOS included: the input's length + 50 (paper, 6.1)."""
        if self.longest is not None:
            return self.longest
        return (len(self.source) or len(self.prefix)) + self.search.max_extra


@dataclass(frozen=True, slots=True)
class ScoreRequest(Request):
    """A translation to score, for `Tasks`: the answer is one hypothesis, with the log-probability of each token."""

    translation: Sequence[int] = ()
    """With the prefix, without EOS."""


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
    """Whether it ended with EOS; otherwise it was cut off at the length limit."""
    attention_TS: NDArray[np.float32] | None = None
    """Cross-attention of each token (without EOS), the mean over the alignment heads."""
    log_probs: tuple[float, ...] = ()
    """Of each token and EOS; only of a translation that was scored. With `Request.alternatives`, those after the
    prefix, or with `scores_prefix` all."""
    alternatives: tuple["LikelyTokens", ...] = ()
    """The likeliest tokens in place of each of these."""


LikelyTokens = tuple[tuple[int, float], ...]
"""Tokens and their log-probabilities, the likeliest first."""
MOST_ALTERNATIVES = 20
Hypotheses = tuple[Hypothesis, ...]
Answer = Hypotheses | HarkError
"""The hypotheses for a request, or the error that it failed with."""


def length_penalty(length: int, alpha: float) -> float:
    """`((5 + length) / 6)^alpha` (Wu et al., 2016); the length is in tokens after the prefix, EOS included."""
    return float(((5 + length) / 6) ** alpha)
