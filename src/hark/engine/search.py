"""Beam search as pure functions of tensors: `init`, `advance`, `finished`, `best`.

A step of the model gives logits for the W live hypotheses of a sentence. The best 2W of all continuations are the
candidates. Those among the first W that are EOS end their hypotheses, and the next candidates that are not EOS replace
them; at the length limit all W end as they are. The search of a sentence stops when `round(W * patience)` hypotheses
have ended, at its length limit, or when no live hypothesis can still be among the n best. Ended hypotheses are ranked
by `log_prob / length_penalty`. Greedy search is W = 1; sampling is W = 1 with sampled candidates.

No shape depends on data, and nothing synchronises with the device, so that a step can be captured in a CUDA graph.

The state of beam search, as tables of tensors whose first axis is the sentence.

Sentences are admitted, retired and selected with one `put` or `select`. All shapes are fixed when a table is created,
so that a step can be captured once and replayed. Shape suffixes in addition to the package's legend: T positions of the
output, as many as the table can hold; C candidates; F ended hypotheses that are kept; M banned tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
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
    min_p_B: Tensor | None = None


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


def init(params: SearchParams, width: int, keep: int, start: int) -> Beams:
    """The state before the first step: one live hypothesis, in row 0, whose next input is the `start` token."""
    start_B = params.start_B
    integers, floats = start_B.new_zeros(len(start_B), dtype=torch.long), start_B.new_full((len(start_B),), -torch.inf)
    log_prob_BW = floats[:, None].repeat(1, width)
    log_prob_BW[:, 0] = start_B
    return Beams(
        tokens_BW=integers[:, None].repeat(1, width).fill_(start),
        parents_BW=integers[:, None].repeat(1, width),
        log_prob_BW=log_prob_BW,
        position_B=integers,
        endings=Endings(
            score_BF=floats[:, None].repeat(1, keep),
            log_prob_BF=floats[:, None].repeat(1, keep),
            length_BF=integers[:, None].repeat(1, keep),
            choice_BF=integers[:, None].repeat(1, keep),
        ),
        n_ended_B=integers.clone(),
        done_B=integers.bool(),
    )


def candidates(logits_BWV: Tensor, log_prob_BW: Tensor) -> Candidates:
    """The best 2W continuations of each sentence."""
    _, width, vocabulary = logits_BWV.shape
    total_BWV = logits_BWV.float().log_softmax(dim=-1) + log_prob_BW[..., None]
    log_prob_BC, index_BC = total_BWV.flatten(1).topk(2 * width)
    return Candidates(log_prob_BC, index_BC // vocabulary, index_BC % vocabulary)


def penalty(length: Tensor, alpha: Tensor) -> Tensor:
    """`request.length_penalty` for tensors."""
    return ((5 + length) / 6) ** alpha


def advance(beams: Beams, params: SearchParams, found: Candidates, end: int) -> Beams:
    """Advance by one step; `end` is EOS. Finished sentences do not change, so they may be stepped further."""
    endings = beams.endings
    width, keep = beams.tokens_BW.shape[1], endings.score_BF.shape[1]
    length_B = beams.position_B + 1
    last_B = length_B >= params.limit_B
    end_BC = (found.tokens_BC == end) & (beams.position_B >= params.forced_B)[:, None]

    # Hypotheses that end at this step, among the first W.
    first = slice(0, width)
    log_prob_BW = found.log_prob_BC[:, first]
    ends_BW = (end_BC[:, first] | last_B[:, None]) & (log_prob_BW > -torch.inf) & ~beams.done_B[:, None]
    score_BW = log_prob_BW / penalty(length_B - params.prefix_B, params.alpha_B)[:, None]
    choice_BW = found.tokens_BC[:, first] * width + found.rows_BC[:, first]
    scores = torch.cat([endings.score_BF, score_BW.masked_fill(~ends_BW, -torch.inf)], 1)
    score_BF, order_BF = (each[:, :keep] for each in scores.sort(dim=1, descending=True, stable=True))
    n_ended_B = beams.n_ended_B + ends_BW.sum(1)

    def ranked(kept_BF: Tensor, new_BW: Tensor) -> Tensor:
        return torch.cat([kept_BF, new_BW], 1).gather(1, order_BF)

    # Hypotheses that stay live: the first W that are not EOS. Each has only one EOS continuation, so there are enough.
    live_BW = end_BC.byte().argsort(dim=1, stable=True)[:, first]
    tokens_BW, parents_BW = found.tokens_BC.gather(1, live_BW), found.rows_BC.gather(1, live_BW)
    log_prob_BW = found.log_prob_BC.masked_fill(end_BC, -torch.inf).gather(1, live_BW)

    # Upper bound on the score of live hypotheses: log-probabilities only fall, and the penalty is largest at the limit.
    # Rounding preserves the order of sums and quotients, so this holds for floats too.
    most_B = log_prob_BW.amax(1) / penalty(params.limit_B - params.prefix_B, params.alpha_B)
    rank_B1 = (params.nbest_B - 1)[:, None]
    settled_B = score_BF.gather(1, rank_B1).squeeze(1) >= most_B  # also when nothing is live: -inf >= -inf
    done_B = beams.done_B | last_B | (n_ended_B >= params.max_ended_B) | settled_B

    going_B1 = ~done_B[:, None]
    return Beams(
        tokens_BW=tokens_BW.where(going_B1, beams.tokens_BW),
        parents_BW=parents_BW.where(going_B1, beams.parents_BW),
        log_prob_BW=log_prob_BW.where(going_B1, beams.log_prob_BW),
        position_B=length_B.where(~done_B, beams.position_B),
        endings=Endings(
            score_BF,
            ranked(endings.log_prob_BF, found.log_prob_BC[:, first]),
            ranked(endings.length_BF, length_B[:, None].expand(-1, width)),
            ranked(endings.choice_BF, choice_BW),
        ),
        n_ended_B=n_ended_B,
        done_B=done_B,
    )


def finished(beams: Beams) -> Tensor:
    return beams.done_B


class Ended(NamedTuple):
    """An ended hypothesis in tokens."""

    tokens: tuple[int, ...]
    """With the prefix, without EOS."""
    log_prob: float
    complete: bool
    """Whether it ended with EOS."""

    @property
    def length(self) -> int:
        """In tokens, EOS included."""
        return len(self.tokens) + self.complete


def best(endings: Endings, trace_BTW: Tensor, nbest: Sequence[int], end: int) -> list[list[Ended]]:
    """Return the n best hypotheses of each sentence, traced back through `trace_BTW`. All tensors are on the host.

    `trace_BTW[:, p]` holds the choices at position p.
    """
    n_B = np.minimum(np.array(nbest, np.int64), (endings.score_BF.numpy() > -np.inf).sum(1))
    sentence_N = np.repeat(np.arange(len(n_B)), n_B)
    start_B = np.cumsum(n_B) - n_B
    rank_N = np.arange(len(sentence_N)) - start_B[sentence_N]
    length_N, choice_N, log_prob_N = (
        each.numpy()[sentence_N, rank_N] for each in (endings.length_BF, endings.choice_BF, endings.log_prob_BF)
    )
    complete_N = choice_N // trace_BTW.shape[2] == end
    tokens = trace_back(trace_BTW.numpy(), sentence_N, length_N, choice_N, complete_N)
    ended = list(map(Ended, tokens, log_prob_N.tolist(), complete_N.tolist()))
    return [ended[start : start + n] for start, n in zip(start_B.tolist(), n_B.tolist(), strict=True)]


def trace_back(
    trace_BTW: NDArray[np.int32],
    sentence_N: NDArray[np.int64],
    length_N: NDArray[np.int64],
    choice_N: NDArray[np.int64],
    complete_N: NDArray[np.bool_],
) -> list[tuple[int, ...]]:
    """Return the tokens of hypotheses by following each from its last choice back to its first, all at once.

    The final EOS of complete hypotheses is dropped.
    """
    if not len(length_N):
        return []
    _, positions, width = trace_BTW.shape
    order_N = np.argsort(-length_N, kind="stable")  # longest first: those that reach a column are a prefix
    length_N, longest = length_N[order_N], int(length_N.max())
    choices_TN = np.zeros((longest, len(length_N)), np.int64)
    if width == 1:  # there is only one path
        choices_TN[:-1] = trace_BTW[sentence_N[order_N], 1:longest, 0].T
    choices_TN[length_N - 1, np.arange(len(length_N))] = choice_N[order_N]
    if width > 1:
        trace, first_N = trace_BTW.ravel(), sentence_N[order_N] * (positions * width)
        beyond_T = np.searchsorted(-length_N, -np.arange(longest)).tolist()  # for each column, how many are longer
        for column in range(longest - 1, 0, -1):
            beyond = beyond_T[column]
            rows = choices_TN[column, :beyond] % width
            choices_TN[column - 1, :beyond] = trace[first_N[:beyond] + (column * width + rows)]
    own_NT = np.arange(longest) < length_N[:, None]
    text = (choices_TN // width).T[own_NT].tolist()
    tokens: list[tuple[int, ...]] = [()] * len(length_N)
    start = 0
    for number, length, last in zip(order_N.tolist(), length_N.tolist(), complete_N[order_N].tolist(), strict=True):
        tokens[number] = tuple(text[start : start + length - last])
        start += length
    return tokens
