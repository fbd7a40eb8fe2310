"""The batching of queued requests for CTranslate2."""

from dataclasses import dataclass
from typing import Literal

from hark.decode.intake import Intake
from hark.decode.request import Request
from hark.errors import UserError

SENTENCES = 32
"""Maximum sentences in a batch of greedy search: smaller matrix products are slow, larger ones miss the cache."""
SEARCHED = 16
"""The same with a beam, where a sentence is several rows."""
FIRST = 8
"""The same for the first batch, so that its answers come early; it doubles from batch to batch."""
LAST = 16
"""Minimum size towards the end, where the rest is divided among the workers so that none is left with a long batch."""
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


class Batcher:
    """Chooses the next batch among the queued requests."""

    def __init__(self, intake: Intake[QueuedRequest], workers: int = 1) -> None:
        self._intake, self._workers = intake, workers
        self.restart()

    def restart(self) -> None:
        """Start again with small batches, because the queue is empty."""
        self._size = FIRST

    @property
    def room(self) -> int:
        """Number of further requests needed for a good choice of neighbours."""
        return max(POOL_BATCHES, 4 * self._workers) * self._size - len(self._intake)

    def take(self) -> list[QueuedRequest]:
        """Take the next request and those closest to it in length, to minimise padding."""
        first = self._intake.first()
        if first is None:
            return []
        others = [
            each
            for each in self._intake.peek(POOL_BATCHES * self._size)
            if each.options == first.options and each is not first
        ]
        others.sort(key=lambda each: abs(each.length - first.length))
        size = min(self._size, SENTENCES if first.options.rows == 1 else SEARCHED, max(1, ROWS // first.options.rows))
        # A long queue allows full batches; towards the end the rest is divided among the workers.
        size = min(size, max(LAST, len(self._intake) // (2 * self._workers)))
        batch, width = [first], first.length
        for each in others[: size - 1]:
            width = max(width, each.length)
            if width * (len(batch) + 1) > BATCH_TOKENS:
                break
            batch.append(each)
        self._intake.take(*(each.number for each in batch))
        self._size = min(2 * self._size, SENTENCES)
        return batch
