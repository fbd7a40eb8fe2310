"""Requests that wait for CTranslate2, and which of them make the next batch."""

from dataclasses import dataclass
from typing import Literal

from hark.decode.intake import Intake
from hark.decode.request import Request
from hark.errors import UserError

SENTENCES = 32
"""In a batch of greedy search; fewer leave matrix products thin, more fall out of the cache."""
SEARCHED = 16
"""The same with a beam, where a sentence is several rows."""
FIRST = 8
"""The same for the first batch, so that its answers come at once; it doubles from batch to batch."""
LAST = 16
"""The same at least towards the end, where the rest is shared out so that no worker is left with a long batch."""
ROWS = 512
"""Hypotheses in a batch at most, however wide the beam."""
POOL_BATCHES = 8
"""Requests to choose neighbours of like length from, in batches."""
BATCH_TOKENS = 4096
"""Source tokens in a batch, padding included: bounds memory where sentences are very long."""


@dataclass(frozen=True)
class CallOptions:
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
    def of(cls, number: int, request: Request) -> "CallOptions":
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
    options: CallOptions
    limit: int
    """Tokens that the translation may have, its prefix and end included."""
    given: int
    """Tokens at its beginning that do not count: those of the request's prefix."""
    start: float = 0.0
    """Log-probability of further tokens that it was made to begin with."""

    @property
    def length(self) -> int:
        return len(self.request.source)


class Batcher:
    """Chooses the next batch among the requests that wait."""

    def __init__(self, intake: Intake[Waiting], workers: int = 1) -> None:
        self._intake, self._workers = intake, workers
        self.restart()

    def restart(self) -> None:
        """Begin small again, because nobody waits."""
        self._size = FIRST

    @property
    def room(self) -> int:
        """Requests that are missing for a good choice of neighbours."""
        return max(POOL_BATCHES, 4 * self._workers) * self._size - len(self._intake)

    def take(self) -> list[Waiting]:
        """Whose turn it is, and those nearest to it in length, so that little is padded."""
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
        # Who keeps the queue full sends more; towards the end the rest is shared out among the workers.
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
