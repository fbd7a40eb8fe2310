"""Requests that wait for CTranslate2, and which of them make the next batch."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from hark.decode.request import Request
from hark.errors import UserError

SENTENCES = 32
"""In a batch of greedy search; fewer leave matrix products thin, more fall out of the cache."""
SEARCHED = 16
"""The same with a beam, where a sentence is several rows."""
FIRST = 8
"""The same for the first batch, so that its answers come at once; it doubles from batch to batch."""
LAST = 16
"""The same towards the end, where the rest is shared out so that no worker is left alone with a long batch."""
ROWS = 512
"""Hypotheses in a batch at most, however wide the beam."""
POOL_BATCHES = 8
"""Requests to choose neighbours of like length from, in batches."""
BATCH_TOKENS = 4096
"""Source tokens in a batch, padding included: bounds memory where sentences are very long."""


@dataclass(frozen=True)
class Options:
    """What all sentences of one call to CTranslate2 share."""

    kind: Literal["search", "sample", "branch"]
    beam: int
    wanted: int
    """Hypotheses that end before the search ends."""
    min_length: int
    banned: tuple[int, ...]
    attention: bool
    prefix: int
    """Length of the prefixes."""
    shortlist: bool
    nbest: int = 1
    number: int = 0

    @classmethod
    def of(cls, number: int, request: Request) -> "Options":
        search = request.search
        banned, prefix = tuple(sorted(set(request.banned))), len(request.prefix)
        # Whoever asks for several translations, or for words of theirs, gets the model's full choice.
        plain = search.nbest == 1 and not (search.sample or search.diverse or banned or prefix)
        common = search.min_length, banned, request.attention, prefix, plain and search.shortlist
        if search.sample:  # chance must not depend on neighbours, so each stands alone
            return cls("sample", 1, search.nbest, *common, search.nbest, number)
        # CTranslate2 takes a beam of 1 for greedy search, which knows one hypothesis.
        wanted = int(search.beam * search.patience + 0.5) if search.beam > 1 else 1
        if search.diverse:
            return cls("branch", search.beam, wanted, *common, search.nbest)
        if wanted < search.nbest:
            raise UserError(f"decode.nbest {search.nbest} with decode.beam 1, which finds one; raise decode.beam")
        return cls("search", search.beam, wanted, *common)

    @property
    def rows(self) -> int:
        """Hypotheses of a sentence that are stepped together."""
        return self.beam * self.nbest


@dataclass(frozen=True, eq=False)
class Waiting:
    """A request on its way."""

    number: int
    request: Request
    options: Options
    limit: int
    """Tokens that the translation may have, its prefix and end included."""
    given: int
    """Tokens at its beginning that do not count: those of the request's prefix."""
    start: float = 0.0
    """Log-probability of further tokens that it was made to begin with."""

    @property
    def length(self) -> int:
        return len(self.request.source)


class Pool:
    """A bounded number of waiting requests, and the choice of the next batch."""

    def __init__(
        self, requests: Iterable[Request | None], limit_of: Callable[[Request], int], workers: int = 1
    ) -> None:
        self.exhausted = False
        self._requests = iter(requests)
        self._limit_of = limit_of
        self._waiting: list[Waiting] = []
        self._admitted = 0
        self._size = FIRST
        self._workers = workers

    def fill(self) -> None:
        """Take requests while there are any and there is room."""
        while not self.exhausted and len(self._waiting) < POOL_BATCHES * self._size:
            try:
                request = next(self._requests)
            except StopIteration:
                self.exhausted = True
                return
            if request is None:
                return
            options = Options.of(self._admitted, request)
            limit = self._limit_of(request)
            self._waiting.append(Waiting(self._admitted, request, options, limit, len(request.prefix)))
            self._admitted += 1

    def take(self) -> list[Waiting]:
        """The oldest, so that nothing waits for long, and those nearest to it in length, so that little is padded."""
        if not self._waiting:
            return []
        oldest = self._waiting[0]
        like = [each for each in self._waiting if each.options == oldest.options]
        like.sort(key=lambda each: abs(each.length - oldest.length))
        batch: list[Waiting] = []
        width = 0
        size = min(self._size, SENTENCES if oldest.options.rows == 1 else SEARCHED)
        if self.exhausted:
            size = min(size, max(LAST, len(self._waiting) // (2 * self._workers)))
        for each in like[: min(size, max(1, ROWS // oldest.options.rows))]:
            width = max(width, each.length)
            if batch and width * (len(batch) + 1) > BATCH_TOKENS:
                break
            batch.append(each)
        taken = {each.number for each in batch}
        self._waiting = [each for each in self._waiting if each.number not in taken]
        self._size = min(2 * self._size, SENTENCES)
        return batch
