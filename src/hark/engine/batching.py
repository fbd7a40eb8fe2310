"""The batching of queued requests for CTranslate2."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace
from itertools import islice
from typing import Literal

from hark.engine.interface import Intake, Request
from hark.errors import UserError

SENTENCES = 32
"""Maximum sentences in a batch of greedy search: smaller matrix products are slow, larger ones miss the cache."""
SEARCHED = 16
"""The same with a beam, where a sentence is several rows."""
FIRST = 8
"""The same for the first batch, so that its answers come early; it doubles from batch to batch."""
LEAST = 2
"""Minimum size towards the end, where the rest is divided among the workers: small batches are slow, idle workers
slower."""
END = 3
"""A queue with fewer full batches than this for each worker is near its end."""
OLDEST_EVERY = 8
"""Towards the end, when the longest requests come first, every eighth batch has the oldest one nevertheless."""
ROWS = 512
"""Maximum hypotheses in a batch, however wide the beam."""
POOL_BATCHES = 8
"""How many batches of requests to choose neighbours of similar length from."""
BATCH_TOKENS = 4096
"""Maximum source tokens in a batch, padding included: bounds memory if sentences are very long."""


@dataclass(frozen=True)
class CallOptions:
    """The options that all sentences of one call to CTranslate2 share."""

    kind: Literal["search", "sample", "branch"]
    beam: int
    max_ended: int
    """The search stops when this many hypotheses have ended."""
    min_length: int
    banned: tuple[int, ...]
    attention: bool
    prefix: int
    """Length of the prefixes."""
    shortlist: bool
    nbest: int = 1
    number: int = 0

    @classmethod
    def of(cls, number: int, request: Request) -> "CallOptions":
        search = request.search
        banned, prefix = tuple(sorted(set(request.banned))), len(request.prefix)
        # N-best lists, sampling, bans and prefixes use the full vocabulary.
        plain = search.nbest == 1 and not (search.sample or search.diverse or banned or prefix)
        common = search.min_length, banned, request.attention, prefix, plain and search.shortlist
        if search.sample:  # samples must be independent of the batch, so each request is a batch of its own
            return cls("sample", 1, search.nbest, *common, search.nbest, number)
        # CTranslate2 runs greedy search for a beam of 1, which has only one hypothesis.
        max_ended = search.max_ended if search.beam > 1 else 1
        if search.diverse:
            return cls("branch", search.beam, max_ended, *common, search.nbest)
        if max_ended < search.nbest:
            raise UserError(f"decode.nbest {search.nbest} requires a beam of more than 1; raise decode.beam")
        return cls("search", search.beam, max_ended, *common)

    @property
    def rows(self) -> int:
        """Hypotheses of a sentence that are decoded together."""
        return self.beam * self.nbest


@dataclass(frozen=True, eq=False)
class QueuedRequest:
    """A queued request."""

    number: int
    request: Request
    options: CallOptions
    limit: int
    """Maximum length of the translation in tokens, prefix and EOS included."""
    uncounted: int
    """Length of the request's prefix, which does not count in the score."""
    start: float = 0.0
    """Log-probability of further tokens that it is forced to start with."""

    @property
    def length(self) -> int:
        return len(self.request.source)

    @property
    def work(self) -> int:
        """An estimate: the source tokens of all its hypotheses."""
        return self.length * self.options.rows


class Batcher:
    """Chooses the next batch among the queued requests."""

    def __init__(self, intake: Intake[QueuedRequest], workers: int = 1) -> None:
        self._intake, self._workload = intake, Workload(workers)
        self._restart()

    def _restart(self) -> None:
        """Start with small batches."""
        self._size, self._passed = FIRST, 0

    def use_workers(self, workers: int) -> None:
        self._workload.workers = workers

    @property
    def room(self) -> int:
        """Number of further requests needed for a good choice of neighbours."""
        return self._pool - len(self._intake)

    @property
    def _pool(self) -> int:
        return max(POOL_BATCHES, 4 * self._workload.workers) * self._size

    def take(self) -> list[QueuedRequest]:
        """Take the next request and those closest to it in length, to minimise padding."""
        oldest = self._intake.first()
        if oldest is None:
            return []
        waiting = self._intake.peek(self._pool)
        work = sum(each.work for each in waiting)
        share, mean = self._workload.share(work), work / len(waiting)
        first = oldest if share >= END * self._most(oldest) * mean else self._choose_last(oldest, waiting)
        full = self._most(first) * first.work
        # The last batches of a worker are equal parts of its share.
        batch = self._gather(first, waiting, share / math.ceil(share / full) if share < END * full else math.inf)
        self._intake.take(*(each.number for each in batch))
        self._workload.start(batch[0].number, sum(each.work for each in batch))
        self._passed = 0 if oldest in batch else self._passed + 1
        self._size = min(2 * self._size, SENTENCES)
        return batch

    def finish(self, batch: Sequence[QueuedRequest]) -> None:
        """Count a batch as finished: each must be, once. After the last one it starts again."""
        self._workload.finish(batch[0].number)
        if not (self._workload or len(self._intake)):
            self._restart()

    def _most(self, request: QueuedRequest) -> int:
        """The maximum size of a request's batch."""
        rows = request.options.rows
        return min(self._size, SENTENCES if rows == 1 else SEARCHED, max(1, ROWS // rows))

    def _choose_last(self, oldest: QueuedRequest, waiting: Sequence[QueuedRequest]) -> QueuedRequest:
        """Choose the next request towards the end: the longest one, so that no worker begins with it when the others
        finish. The first batch and urgent requests keep their order."""
        some_urgent = waiting[0].request.urgent or waiting[-1].request.urgent  # the kinds are not mixed
        in_order = self._size == FIRST or some_urgent or self._passed == OLDEST_EVERY - 1
        return oldest if in_order else max(waiting, key=lambda each: each.work)

    def _gather(self, first: QueuedRequest, waiting: Sequence[QueuedRequest], most: float) -> list[QueuedRequest]:
        """Gather a batch of about as much work as `most`. Requests of the same kind come first: otherwise a bulk
        request would be alone in its turn, among urgent ones."""
        others = [each for each in waiting if each.options == first.options and each is not first]
        urgent = first.request.urgent
        others.sort(key=lambda each: (each.request.urgent != urgent, abs(each.length - first.length)))
        batch, width, work = [first], first.length, first.work
        for each in others[: self._most(first) - 1]:
            width = max(width, each.length)
            enough = min(len(batch), len(others) + 1 - len(batch)) >= LEAST and work + each.work / 2 > most
            if enough or width * (len(batch) + 1) > BATCH_TOKENS:
                break
            batch.append(each)
            work += each.work
        return batch


class Workload:
    """The batches that workers have or wait for, in order.

    Time is counted in work, since all workers are about equally fast: a batch takes as long as it has work, and a batch
    that ends tells how far the others must be. So no clock is read, and errors do not add up.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._now = 0.0
        self._work: dict[int, float] = {}
        self._begun: dict[int, float] = {}

    def __bool__(self) -> bool:
        """Whether there are unfinished batches."""
        return bool(self._work)

    def start(self, batch: int, work: float) -> None:
        """Add a batch, identified by any number."""
        self._work[batch] = work
        self._begin()

    def finish(self, batch: int) -> None:
        """Remove a batch that has ended. A worker takes the next one."""
        work = self._work.pop(batch)
        self._now = max(self._now, self._begun.pop(batch, self._now) + work)
        self._begin()

    def share(self, waiting: float) -> float:
        """Return how much of the waiting work the next free worker should do, so that all workers finish together."""
        loads = [0.0] * self.workers
        for batch, work in self._work.items():
            heapreplace(loads, loads[0] + self._left(batch, work))
        loads.sort()
        # A worker that has more to do than the others can do meanwhile gets nothing: the least mean is without those.
        end = min((waiting + sum(loads[:count])) / count for count in range(1, self.workers + 1))
        return end - loads[0]

    def _begin(self) -> None:
        for batch in islice(self._work, self.workers):
            self._begun.setdefault(batch, self._now)

    def _left(self, batch: int, work: float) -> float:
        return max(0.0, self._begun.get(batch, self._now) + work - self._now)
