"""What a search knows, as tensors with the sentence as their first axis: admitting, retiring and choosing sentences is
one `put` or `select`. All shapes are fixed when a table of sentences is made, so that a step can be recorded once and
replayed.

Besides the package's legend: T positions of the output, as many as the table can hold; C candidates; F hypotheses that
have ended and are kept; M banned tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Table:
    """Tensors, and tables of tensors, whose first axis is the sentence; None for what there is not."""

    def parts(self) -> "list[tuple[str, Tensor | Table]]":
        named = ((each.name, getattr(self, each.name)) for each in fields(self))
        return [(name, each) for name, each in named if each is not None]

    def each(self, change: Callable[[Tensor], Tensor]) -> Self:
        """A table of the same kind, of what a function makes of its tensors."""
        made = {name: each.each(change) if isinstance(each, Table) else change(each) for name, each in self.parts()}
        return replace(self, **made)

    def select(self, which_B: Tensor) -> Self:
        return self.each(lambda each: each.index_select(0, which_B))

    def repeated(self, times: int) -> Self:
        """The one sentence of a table, so many times; nothing is copied."""
        return self.each(lambda each: each.expand(times, *each.shape[1:]))

    def room(self, sentences: int) -> Self:
        """A table of the same kind for so many sentences; all zero."""
        return self.each(lambda each: each.new_zeros(sentences, *each.shape[1:]))

    def put(self, which_B: Tensor, some: Self) -> None:
        """Write some sentences in place."""
        for name, each in self.parts():
            new = getattr(some, name)
            each.put(which_B, new) if isinstance(each, Table) else each.index_copy_(0, which_B, new)


@dataclass(frozen=True, eq=False)
class Chance(Table):
    """The settings of sampling."""

    drawn_BT: Tensor
    """A number between 0 and 1 for each position."""
    temperature_B: Tensor
    top_k_B: Tensor
    top_p_B: Tensor


@dataclass(frozen=True, eq=False)
class Terms(Table):
    """What each sentence's search was asked; nothing here changes as it goes on. Lengths are of the whole output, its
    prefix and end included."""

    limit_B: Tensor
    min_length_B: Tensor
    """Tokens that the output must have, without the end."""
    prefix_B: Tensor
    """Tokens at the beginning that count neither in log-probability nor in length."""
    forced_B: Tensor
    """Tokens at the beginning that are given. Of these, those after the prefix do count, and their log-probability is
    in `start_B`."""
    forced_BT: Tensor
    start_B: Tensor
    banned_BM: Tensor
    """Filled up with an id that is forbidden anyhow."""
    wanted_B: Tensor
    """The search ends when so many hypotheses have ended."""
    nbest_B: Tensor
    alpha_B: Tensor
    chance: Chance | None = None
    """Where tokens are drawn instead of searched for."""


@dataclass(frozen=True, eq=False)
class Endings(Table):
    """Hypotheses that have ended, the best first."""

    score_BF: Tensor
    """-inf: none."""
    log_prob_BF: Tensor
    length_BF: Tensor
    """With the last token."""
    choice_BF: Tensor
    """The last token, and the row that it stood in: token * W + row."""


@dataclass(frozen=True, eq=False)
class Beams(Table):
    """How far each sentence's search has come."""

    tokens_BW: Tensor
    """The last token of each live hypothesis: what the decoder reads next."""
    parents_BW: Tensor
    """Which row each was made from in the last step."""
    log_prob_BW: Tensor
    """-inf: no hypothesis."""
    position_B: Tensor
    """Tokens of the output so far, the same for all live hypotheses of a sentence."""
    endings: Endings
    n_ended_B: Tensor
    """All that have ended, also those that were not good enough to be kept."""
    done_B: Tensor

    @property
    def choices_BW(self) -> Tensor:
        """Last step's tokens, and where they came from, as in `Endings`: the trace that hypotheses are read from."""
        return self.tokens_BW * self.tokens_BW.shape[1] + self.parents_BW


@dataclass(frozen=True, eq=False)
class Candidates:
    """Continuations of a sentence's hypotheses, the best first: C = 2W of them."""

    log_prob_BC: Tensor
    rows_BC: Tensor
    tokens_BC: Tensor
