"""A beam search that is watched: our own engine, which notes at each step what there was to choose from.

It is the engine for a CPU in float32, with the same numbers in every bit: what is noted is read from its tables between
two steps, and from the two functions that it is given to choose and to attend with, whose results pass through
untouched.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hark.decode.engines.jobs import Job, hypothesis_of, jobs_of
from hark.decode.engines.lane import Lane, Machine
from hark.decode.engines.torch import TorchEngine
from hark.decode.request import Hypothesis, Request
from hark.decode.scheduler import Entered
from hark.decode.search import best, candidates
from hark.decode.state import Beams, Candidates, Endings
from hark.errors import UserError
from hark.model import Transformer
from hark.model.cache import Cache, CachedDecoder, Kept, Operations, Rows, attend_memory
from hark.model.patterns import scaled_dot_product_attention
from hark.text.tokenizer import EOS

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
    one, which has read the mark of the start."""

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
class Search:
    """What was asked, every step, and what was found."""

    request: Request
    steps: tuple[Step, ...]
    hypotheses: tuple[Hypothesis, ...]


class WatchedEngine(TorchEngine):
    """An `Engine` that keeps the searches it made. One sentence at a time."""

    def __init__(self, model: Transformer) -> None:
        super().__init__(model, "cpu", "float32", places=PLACES)
        self.searches: list[Search] = []
        self._weights_LHWS: list[Tensor] = []
        self._seen: tuple[Tensor, Candidates] | None = None

    @cached_property
    @torch.no_grad()
    def machine(self) -> Machine:
        decoder = CachedDecoder(self.model, Operations(attend_memory=self._attend_memory))
        cache = Cache.empty(self.config, self.places, self.device, self.dtype)
        return Machine(decoder, cache, self._choose, self.exact, None)

    def run(self, requests: Iterable[Request | None]) -> Iterator[tuple[int, tuple[Hypothesis, ...]]]:
        for number, request in enumerate(each for each in requests if each is not None):
            search = self.search(request)
            self.searches.append(search)
            yield number, search.hypotheses

    def search(self, request: Request) -> Search:
        if request.search.sample or request.search.diverse:
            raise UserError("only beam search can be looked at; leave decode.sample and decode.diverse off")
        (job,) = jobs_of(0, request, self.check(request))
        if job.size.places > self.places:
            raise UserError(f"the sentence has {len(request.source)} tokens, too many to look at; give a shorter one")
        self.remember([Entered(job, job.size, 0)])
        lane = self.lane(job.shape)
        lane.clear()
        (slot,) = lane.admit([job.arrival(0)])
        steps = []
        while not lane.beams.done_B[slot]:
            steps.append(self._step(lane, slot, job))
        *endings, trace = lane.release([slot]).get()
        (ended,) = best(Endings(*endings), trace, [job.nbest])
        hypotheses = [hypothesis_of(each, request) for each in ended]
        if request.attention:
            attend = partial(self.attention, request.source)
            hypotheses = [replace(each, attention_TS=attend(each.tokens, each.complete)) for each in hypotheses]
        return Search(request, tuple(steps), tuple(hypotheses))

    def _step(self, lane: Lane, slot: int, job: Job) -> Step:
        which_B = torch.tensor([slot])
        before = lane.beams.select(which_B)
        self._weights_LHWS.clear()
        lane.steps(1)
        assert self._seen is not None  # a step chooses
        logits_WV, found = self._seen
        alive = int((before.log_prob_BW[0] > -torch.inf).sum())
        p_WC, tokens_WC = (each[:alive].tolist() for each in logits_WV.softmax(dim=-1).topk(LIKELY, dim=-1))
        attention_WS = self._weights_LHWS[self.alignment.layer][:, :alive].mean(0).numpy()
        return Step(
            log_prob_W=before.log_prob_BW[0, :alive].numpy().copy(),
            likely=tuple(tuple(zip(*each, strict=True)) for each in zip(tokens_WC, p_WC, strict=True)),
            attention_WS=attention_WS,
            candidates=tuple(fates(before, lane.beams.select(which_B), found, job.limit)),
        )

    def _choose(self, logits_BWV: Tensor, log_prob_BW: Tensor) -> Candidates:
        """The one search that is under way stands first; the others are nobody's."""
        found = candidates(logits_BWV, log_prob_BW)
        self._seen = logits_BWV[0].clone(), found
        return found

    def _attend_memory(self, q_BWHK: Tensor, kept: Kept, rows: Rows) -> Tensor:
        first, length = int(rows.memory_B[0]), int(rows.memory_lengths_B[0])
        k_BSHK, v_BSHK = (each[None, first : first + length] for each in (kept.keys_PHK, kept.values_PHK))
        everything = torch.ones(1, 1, dtype=torch.bool)
        _, weights_BHWS = scaled_dot_product_attention(q_BWHK[:1], k_BSHK, v_BSHK, everything)
        self._weights_LHWS.append(weights_BHWS[0])
        return attend_memory(q_BWHK, kept, rows)


def fates(before: Beams, after: Beams, found: Candidates, limit: int) -> Iterator[Next]:
    """What became of each candidate. When the search is over, whatever did not end is dropped."""
    width = before.tokens_BW.shape[1]
    rows, tokens, log_probs = (each[0].tolist() for each in (found.rows_BC, found.tokens_BC, found.log_prob_BC))
    last, over = int(before.position_B[0]) + 1 >= limit, bool(after.done_B[0])
    alive: set[tuple[int, int]] = set()
    if not over:
        alive = set(zip(after.parents_BW[0].tolist(), after.tokens_BW[0].tolist(), strict=True))
    for rank, (row, token, log_prob) in enumerate(zip(rows, tokens, log_probs, strict=True)):
        if log_prob == -np.inf:
            continue
        fate: Fate = "dropped"
        if rank < width and (token == EOS or last):
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
