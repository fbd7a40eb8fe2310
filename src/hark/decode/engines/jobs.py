"""Requests as searches: one, or one for each sample, or a look at first tokens and then a branch for each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

import numpy as np

from hark.decode.engines.lane import Arrival, LaneShape, power_of_two
from hark.decode.request import Hypothesis, Request, length_penalty
from hark.decode.search import Ended

COLUMNS = 512
"""Tokens of a source or an output that lanes have room for at least. Few need more; each other room is a lane of its
own."""


Kind = Literal["search", "sample", "look", "branch"]


class DecodeJob(NamedTuple):
    """One search. Its last two fields follow from the others; `make` knows how, and many look at them."""

    number: int
    """Of the request."""
    request: Request
    kind: Kind
    rows: int
    """The width of its beam."""
    keep: int
    limit: int
    forced: Sequence[int]
    start: float
    part: int
    places: int
    shape: LaneShape

    @classmethod
    def make(
        cls,
        number: int,
        request: Request,
        kind: Kind,
        width: int,
        keep: int,
        limit: int,
        forced: Sequence[int],
        start: float = 0.0,
        part: int = 0,
    ) -> Self:
        length = len(request.source)
        longest = max(limit, length)
        columns = COLUMNS if longest <= COLUMNS else power_of_two(longest)
        given, banned = power_of_two(len(forced)), power_of_two(len(request.banned))
        shape = LaneShape(width, keep, columns, given, banned, kind == "sample")
        return cls(number, request, kind, width, keep, limit, forced, start, part, length + width * limit, shape)

    @property
    def nbest(self) -> int:
        """Hypotheses that are wanted of this search."""
        match self.kind:
            case "search":
                return self.request.search.nbest
            case "look":
                return self.rows
            case "sample" | "branch":
                return 1

    def arrival(self, memory: int) -> Arrival:
        request, search = self.request, self.request.search
        patience = search.patience if self.kind in ("search", "branch") else 1.0
        return Arrival(  # by position, as often as this is done
            self.number,
            self.limit,
            search.min_length,
            len(request.prefix),
            self.forced,
            self.start,
            request.banned,
            int(self.rows * patience + 0.5),  # wanted
            self.nbest,
            search.alpha,
            memory,
            len(request.source),
            self.drawn() if self.kind == "sample" else (),
            search.temperature,
            search.top_k,
            search.top_p,
        )

    def drawn(self) -> list[float]:
        """Chance is a function of the seed, the source, the number of the sample and the position, and nothing else."""
        seeds = np.random.SeedSequence([self.request.search.seed, self.part, *self.request.source])
        return [float(each) for each in np.random.Generator(np.random.PCG64(seeds)).random(self.limit)]


@dataclass(eq=False, slots=True)
class OpenAnswer:
    """What is there so far of the answer to a request that needs several searches."""

    open: int
    """Searches that have not ended."""
    found: dict[int, list[Ended]] = field(default_factory=dict)
    """By the part of the request."""

    def ended(self) -> list[Ended]:
        return [each for part in sorted(self.found) for each in self.found[part]]


def ranked(ended: Sequence[Ended], request: Request) -> list[Hypothesis]:
    """Hypotheses of what ended, by score."""
    hypotheses = [hypothesis_of(each, request) for each in ended]
    return sorted(hypotheses, key=lambda each: -each.score) if len(hypotheses) > 1 else hypotheses


def hypothesis_of(ended: Ended, request: Request) -> Hypothesis:
    score = ended.log_prob / length_penalty(ended.length - len(request.prefix), request.search.alpha)
    return Hypothesis(ended.tokens, ended.log_prob, score, ended.complete)


def jobs_of(number: int, request: Request, limit: int) -> list[DecodeJob]:
    """The searches that a request needs to begin with."""
    search, prefix = request.search, request.prefix
    if search.sample:
        return [
            DecodeJob.make(number, request, "sample", 1, 1, limit, prefix, part=part) for part in range(search.nbest)
        ]
    if search.diverse:
        return [DecodeJob.make(number, request, "look", search.nbest, search.nbest, len(prefix) + 1, prefix)]
    return [DecodeJob.make(number, request, "search", search.beam, max(search.beam, search.nbest), limit, prefix)]


def branches_of(look: DecodeJob, firsts: Sequence[Ended], limit: int) -> list[DecodeJob]:
    """After the most probable first tokens are known: a search for each that is not the end already."""
    beam = look.request.search.beam
    return [
        DecodeJob.make(look.number, look.request, "branch", beam, beam, limit, first.tokens, first.log_prob, part)
        for part, first in enumerate(firsts)
        if not over(first, limit)
    ]


def over(ended: Ended, limit: int) -> bool:
    return ended.complete or ended.length >= limit
