"""The state of beam search, as tables of tensors whose first axis is the sentence.

Sentences are admitted, retired and selected with one `put` or `select`. All shapes are fixed when a table is created,
so that a step can be captured once and replayed. Shape suffixes in addition to the package's legend: T positions of the
output, as many as the table can hold; C candidates; F ended hypotheses that are kept; M banned tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Self

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Table:
    """Tensors, and tables of tensors, whose first axis is the sentence; absent ones are None."""

    def parts(self) -> "list[tuple[str, Tensor | Table]]":
        named = ((each.name, getattr(self, each.name)) for each in fields(self))
        return [(name, each) for name, each in named if each is not None]

    def each(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return a table with a function applied to each tensor."""
        changed = {name: each.each(change) if isinstance(each, Table) else change(each) for name, each in self.parts()}
        return replace(self, **changed)

    def select(self, which_B: Tensor) -> Self:
        return self.each(lambda each: each.index_select(0, which_B))

    def repeated(self, times: int) -> Self:
        """Repeat the single sentence of a table, without copying."""
        return self.each(lambda each: each.expand(times, *each.shape[1:]))

    def room(self, sentences: int) -> Self:
        """Return a zero-filled table of the same kind for this many sentences."""
        return self.each(lambda each: each.new_zeros(sentences, *each.shape[1:]))

    def put(self, which_B: Tensor, some: Self) -> None:
        """Write sentences in place, at the given indices."""
        for name, each in self.parts():
            new = getattr(some, name)
            each.put(which_B, new) if isinstance(each, Table) else each.index_copy_(0, which_B, new)


@dataclass(frozen=True, eq=False)
class Sampling(Table):
    """The settings of sampling."""

    drawn_BT: Tensor
    """A random number between 0 and 1 for each position."""
    temperature_B: Tensor
    top_k_B: Tensor
    top_p_B: Tensor


@dataclass(frozen=True, eq=False)
class SearchParams(Table):
    """The constant parameters of each sentence's search. Lengths are of the whole output, prefix and EOS included."""

    limit_B: Tensor
    min_length_B: Tensor
    """Minimum length of the output, without EOS."""
    prefix_B: Tensor
    """Number of prefix tokens, which count neither in the log-probability nor in the length."""
    forced_B: Tensor
    """Number of forced tokens at the start of the output. Those after the prefix count; their log-probability is in
    `start_B`."""
    forced_BT: Tensor
    start_B: Tensor
    banned_BM: Tensor
    """Padded with an id that is always forbidden."""
    max_ended_B: Tensor
    """The search stops when this many hypotheses have ended."""
    nbest_B: Tensor
    alpha_B: Tensor
    sampling: Sampling | None = None
    """Set if tokens are sampled instead of searched for."""


@dataclass(frozen=True, eq=False)
class Endings(Table):
    """Ended hypotheses, best first."""

    score_BF: Tensor
    """-inf: no hypothesis."""
    log_prob_BF: Tensor
    length_BF: Tensor
    """In tokens, the last one included."""
    choice_BF: Tensor
    """The last token and the row that it extended: token * W + row."""


@dataclass(frozen=True, eq=False)
class Beams(Table):
    """The changing state of each sentence's search."""

    tokens_BW: Tensor
    """The last token of each live hypothesis: the decoder's next input."""
    parents_BW: Tensor
    """The row that each hypothesis extended in the last step."""
    log_prob_BW: Tensor
    """-inf: no hypothesis."""
    position_B: Tensor
    """Length of the output so far, the same for all live hypotheses of a sentence."""
    endings: Endings
    n_ended_B: Tensor
    """Number of ended hypotheses, including those that were not kept."""
    done_B: Tensor

    @property
    def choices_BW(self) -> Tensor:
        """The tokens and parents of the last step, encoded as in `Endings`: one row of the trace."""
        return self.tokens_BW * self.tokens_BW.shape[1] + self.parents_BW


@dataclass(frozen=True, eq=False)
class Candidates:
    """The C = 2W best continuations of a sentence's hypotheses, best first."""

    log_prob_BC: Tensor
    rows_BC: Tensor
    tokens_BC: Tensor
