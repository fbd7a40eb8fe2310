"""Beam searches, step by step: a watch on our engine notes what there was to choose from, and what was chosen."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.decode.engines.watch import SearchStep, Watch
from hark.decode.request import Hypotheses, Request

LIKELY = 8
"""Next tokens that are noted of each hypothesis."""
PLACES = 1 << 14
"""Tokens of a source and its hypotheses: enough for 512 and a beam of 16."""

Fate = Literal["lives", "ends", "dropped"]


@dataclass(frozen=True)
class Next:
    """One of the best continuations of a step."""

    row: int
    """The live hypothesis that it goes on from."""
    token: int
    log_prob: float
    """Of the whole hypothesis."""
    fate: Fate


@dataclass(frozen=True, eq=False)
class Step:
    """One step. Its live hypotheses are those that lived on in the step before, in their order; at first there is
    one, which has read the start token."""

    log_prob_W: NDArray[np.float32]
    likely: tuple[tuple[tuple[int, float], ...], ...]
    """For each live hypothesis the tokens that are most likely to come next, with their probabilities."""
    attention_WS: NDArray[np.float32]
    """Where each live hypothesis looks at in the source: the mean of all heads of the last layer but one, where words
    are best told by what is looked at (Garg et al., 2019)."""
    candidates: tuple[Next, ...]
    """The best first."""

    @property
    def survivors(self) -> tuple[Next, ...]:
        return tuple(each for each in self.candidates if each.fate == "lives")


@dataclass(frozen=True, eq=False)
class RecordedSearch:
    """What was asked, every step, and what was found."""

    request: Request
    steps: tuple[Step, ...]
    hypotheses: Hypotheses


class SearchRecorder(Watch):
    """Keeps the searches of the engine that it watches."""

    def __init__(self, layer: int, end: int) -> None:
        """`layer` is the one whose attention is kept; `end` is EOS."""
        self.layer, self.end = layer, end
        self.found: dict[int, RecordedSearch] = {}
        self._steps: dict[int, list[Step]] = defaultdict(list)
        self._weights_BWS: Tensor | None = None

    @property
    def searches(self) -> list[RecordedSearch]:
        """In the order in which they were asked for."""
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


def fates(step: SearchStep, sentence: int, end: int) -> Iterator[Next]:
    """What became of each candidate. When the search is over, whatever did not end is dropped."""
    before, after, found = step.before, step.after, step.found
    width = before.tokens_BW.shape[1]
    rows, tokens, log_probs = (each[sentence].tolist() for each in (found.rows_BC, found.tokens_BC, found.log_prob_BC))
    last = int(before.position_B[sentence]) + 1 >= int(step.terms.limit_B[sentence])
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
        yield Next(row, token, log_prob, fate)


def path(steps: Sequence[Step], tokens: Sequence[int]) -> Iterator[int]:
    """Which candidate of each step a hypothesis took, its end included."""
    row = 0
    for step, token in zip(steps, tokens, strict=False):
        at = next(at for at, each in enumerate(step.candidates) if (each.row, each.token) == (row, token))
        yield at
        row = sum(each.fate == "lives" for each in step.candidates[:at])
