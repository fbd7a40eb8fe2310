"""Splits requests into searches: one, one per sample, or one for the first tokens and then one per branch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

import numpy as np

from hark.engine.interface import Hypothesis, Request, length_penalty
from hark.engine.lane_tables import PAGE, Arrival, LaneShape, power_of_two
from hark.engine.search import Ended

COLUMNS = 512
"""Minimum length in tokens, of sources and outputs, that lanes are sized for. Few sentences need more; each larger size
is a lane of its own."""
LONG_PROMPT = 8
"""From this many forced tokens on, one pass of the decoder reads them all before the search. Shorter ones, such as the
language of the output, are forced step by step together with what other searches do. A text to continue is always
read, so that lanes need no tables of forced tokens of many lengths."""


JobKind = Literal["search", "sample", "look", "branch"]


class DecodeJob(NamedTuple):
    """One search. `make` computes the last three fields, which are read often, from the others."""

    number: int
    """The number of the request."""
    request: Request
    kind: JobKind
    rows: int
    """The beam width."""
    keep: int
    limit: int
    forced: Sequence[int]
    start: float
    part: int
    reserved: int
    """Positions of the output that have places from the start; most outputs need no more."""
    places: int
    """Places that it needs from the start."""
    shape: LaneShape

    @classmethod
    def make(
        cls,
        number: int,
        request: Request,
        kind: JobKind,
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
        n_forced = 0 if reads_prompt(request, forced) and not length else power_of_two(len(forced))
        banned = power_of_two(len(request.banned))
        tree = request.tree.symbols if request.tree is not None else None
        shape = LaneShape(width, keep, columns, n_forced, banned, kind == "sample", tree)
        expected = max(length * 5 // 4 + 8, len(forced) + 1)
        reserved = min(limit, -(-expected // PAGE) * PAGE)
        places = length + width * reserved
        return cls(number, request, kind, width, keep, limit, forced, start, part, reserved, places, shape)

    @property
    def most_places(self) -> int:
        return len(self.request.source) + self.rows * self.limit

    def whole(self) -> Self:
        """The same search with all places that it may need from the start."""
        return self._replace(reserved=self.limit, places=self.most_places)

    @property
    def nbest(self) -> int:
        """Number of hypotheses to return from this search."""
        match self.kind:
            case "search":
                return self.request.search.nbest
            case "look":
                return self.rows
            case "sample" | "branch":
                return 1

    @property
    def has_prompt(self) -> bool:
        return reads_prompt(self.request, self.forced)

    @property
    def reported(self) -> bool:
        """Whether its tokens are reported while it runs: those of a hypothesis with rivals might still change."""
        return self.request.stream and self.rows == self.nbest == self.request.search.nbest == 1

    def arrival(self, memory: int, read: bool = False) -> Arrival:
        request, search = self.request, self.request.search
        patience = search.patience if self.kind in ("search", "branch") else 1.0
        return Arrival(  # positional arguments are faster, and this is called often
            self.number,
            self.limit,
            search.min_length,
            len(request.prefix),
            self.forced,
            self.start,
            request.banned,
            int(self.rows * patience + 0.5),  # max_ended
            self.nbest,
            search.alpha,
            memory,
            len(request.source),
            self.reserved,
            self.drawn() if self.kind == "sample" else (),
            search.temperature,
            search.top_k,
            search.top_p,
            request.tree.words if request.tree is not None else 0,
            read,
            search.min_p,
            request.start,
            self.reported,
        )

    def drawn(self) -> list[float]:
        """Random numbers for each position, which depend only on the seed, the text and the index of the sample."""
        text = self.request.source or self.request.prefix
        seeds = np.random.SeedSequence([self.request.search.seed, self.part, *text])
        return [float(each) for each in np.random.Generator(np.random.PCG64(seeds)).random(self.limit)]


def reads_prompt(request: Request, forced: Sequence[int]) -> bool:
    """Whether one pass reads the forced tokens."""
    return len(forced) >= (LONG_PROMPT if request.source else 1)


@dataclass(eq=False, slots=True)
class OpenAnswer:
    """The partial answer to a request that may need several searches."""

    open: int
    """Number of unfinished searches."""
    found: dict[int, list[Ended]] = field(default_factory=dict)
    """Ended hypotheses by part of the request."""

    def ended(self) -> list[Ended]:
        return [each for part in sorted(self.found) for each in self.found[part]]


def ranked(ended: Sequence[Ended], request: Request) -> list[Hypothesis]:
    """Convert ended hypotheses and sort them by score."""
    hypotheses = [hypothesis_of(each, request) for each in ended]
    return sorted(hypotheses, key=lambda each: -each.score) if len(hypotheses) > 1 else hypotheses


def hypothesis_of(ended: Ended, request: Request) -> Hypothesis:
    score = ended.log_prob / length_penalty(ended.length - len(request.prefix), request.search.alpha)
    return Hypothesis(ended.tokens, ended.log_prob, score, ended.complete)


def jobs_of(number: int, request: Request, limit: int) -> list[DecodeJob]:
    """The initial searches of a request."""
    search, prefix = request.search, request.prefix
    if search.sample:
        return [
            DecodeJob.make(number, request, "sample", 1, 1, limit, prefix, part=part) for part in range(search.nbest)
        ]
    if search.diverse:
        return [DecodeJob.make(number, request, "look", search.nbest, search.nbest, len(prefix) + 1, prefix)]
    return [DecodeJob.make(number, request, "search", search.beam, max(search.beam, search.nbest), limit, prefix)]


def branches_of(look: DecodeJob, firsts: Sequence[Ended], limit: int) -> list[DecodeJob]:
    """A search for each of the likeliest first tokens that does not end there."""
    beam = look.request.search.beam
    return [
        DecodeJob.make(look.number, look.request, "branch", beam, beam, limit, first.tokens, first.log_prob, part)
        for part, first in enumerate(firsts)
        if not over(first, limit)
    ]


def over(ended: Ended, limit: int) -> bool:
    return ended.complete or ended.length >= limit
