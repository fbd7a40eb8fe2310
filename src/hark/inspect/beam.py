"""Records beam search step by step: the candidates of each step and which of them were kept."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.engine.interface import Hypotheses, Request
from hark.engine.watch import SearchStep, Watch
from hark.inspect.expectation import LIKELY

PLACES = 1 << 14
"""Cache size in tokens, of a source and its hypotheses: enough for 512 tokens and a beam of 16."""

Fate = Literal["lives", "ends", "dropped"]


@dataclass(frozen=True)
class NextToken:
    """A candidate of a step."""

    row: int
    """The live hypothesis that it extends."""
    token: int
    log_prob: float
    """The log-probability of the whole hypothesis."""
    fate: Fate


@dataclass(frozen=True, eq=False)
class Step:
    """One step. Its live hypotheses are those kept in the step before, in order; the first step has one, which has read
    the start token."""

    log_prob_W: NDArray[np.float32]
    likely: tuple[tuple[tuple[int, float], ...], ...]
    """The likeliest next tokens of each live hypothesis, with their probabilities."""
    attention_WS: NDArray[np.float32]
    """The cross-attention of each live hypothesis: the mean of all heads of the penultimate layer, which usually aligns
    best (Garg et al., 2019)."""
    candidates: tuple[NextToken, ...]
    """Best first."""


@dataclass(frozen=True, eq=False)
class RecordedSearch:
    """A request, all steps of its search, and the hypotheses found."""

    request: Request
    steps: tuple[Step, ...]
    hypotheses: Hypotheses


class SearchRecorder(Watch):
    """Records the searches of the engine that it watches."""

    def __init__(self, layer: int, end: int) -> None:
        """`layer`: the layer whose attention is recorded; `end`: EOS."""
        self.layer, self.end = layer, end
        self.found: dict[int, RecordedSearch] = {}
        self._steps: dict[int, list[Step]] = defaultdict(list)
        self._weights_BWS: Tensor | None = None

    @property
    def searches(self) -> list[RecordedSearch]:
        """The searches in the order of their requests."""
        return [self.found[number] for number in sorted(self.found)]

    def attended(self, kind: str, layer: int, out_BWHK: Tensor, weights_BHWS: Tensor) -> Tensor:
        if kind == "cross" and layer == self.layer:
            self._weights_BWS = weights_BHWS.mean(1)
        return out_BWHK

    def stepped(self, step: SearchStep) -> None:
        assert self._weights_BWS is not None  # a step attends before it chooses
        for sentence, number in enumerate(self.numbers):
            if number >= 0:
                self._steps[number].append(self._note(step, sentence, self._weights_BWS[sentence]))

    def answered(self, number: int, request: Request, hypotheses: Hypotheses) -> None:
        length = len(request.source)
        steps = (replace(each, attention_WS=each.attention_WS[:, :length]) for each in self._steps.pop(number))
        self.found[number] = RecordedSearch(request, tuple(steps), hypotheses)

    def _note(self, step: SearchStep, sentence: int, weights_WS: Tensor) -> Step:
        log_prob_W = step.before.log_prob_BW[sentence]
        alive = int((log_prob_W > -torch.inf).sum())
        p_WV = step.logits_BWV[sentence, :alive].softmax(dim=-1)
        p_WC, tokens_WC = (each.tolist() for each in p_WV.topk(LIKELY, dim=-1))
        return Step(
            log_prob_W=log_prob_W[:alive].numpy().copy(),
            likely=tuple(tuple(zip(*each, strict=True)) for each in zip(tokens_WC, p_WC, strict=True)),
            attention_WS=weights_WS[:alive].numpy(),
            candidates=tuple(fates(step, sentence, self.end)),
        )


def fates(step: SearchStep, sentence: int, end: int) -> Iterator[NextToken]:
    """Yield each candidate with its fate. When the search is finished, candidates that did not end are dropped."""
    before, after, found = step.before, step.after, step.found
    width = before.tokens_BW.shape[1]
    rows, tokens, log_probs = (each[sentence].tolist() for each in (found.rows_BC, found.tokens_BC, found.log_prob_BC))
    last = int(before.position_B[sentence]) + 1 >= int(step.params.limit_B[sentence])
    alive: set[tuple[int, int]] = set()
    if not after.done_B[sentence]:
        alive = set(zip(after.parents_BW[sentence].tolist(), after.tokens_BW[sentence].tolist(), strict=True))
    for rank, (row, token, log_prob) in enumerate(zip(rows, tokens, log_probs, strict=True)):
        if log_prob == -np.inf:
            continue
        fate: Fate = "dropped"
        if rank < width and (token == end or last):
            fate = "ends"
        elif (row, token) in alive:
            fate = "lives"
        yield NextToken(row, token, log_prob, fate)


def path(steps: Sequence[Step], tokens: Sequence[int]) -> Iterator[int]:
    """The index of the candidate that a hypothesis took at each step, EOS included."""
    row = 0
    for step, token in zip(steps, tokens, strict=False):
        at = next(at for at, each in enumerate(step.candidates) if (each.row, each.token) == (row, token))
        yield at
        row = sum(each.fate == "lives" for each in step.candidates[:at])
