"""Scores translations for all requests that wait for it, in one batch."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock

from hark.engine.request import BULK_EVERY
from hark.errors import HarkError
from hark.translate.load import Loaded
from hark.translate.second_look import NLL

FULL_BATCH = 64
"""Pairs in a batch at which no further request is added to it, so that an urgent one does not have to wait long."""

NLLs = list[NLL | None]
"""Of each pair; None: it is too long for the model."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of a request: texts and their translations, in these languages."""

    texts: Sequence[tuple[str, str]]
    languages: tuple[str, str]
    future: "Future[NLLs]" = field(default_factory=Future)


class Scoring:
    """A queue of pairs to score with one model. Any thread may add; one thread at a time scores.

    Urgent ones come first, but every eighth batch begins with bulk ones, as in `Intake`.
    """

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._urgent: deque[Pairs] = deque()
        self._bulk: deque[Pairs] = deque()
        self._lock = Lock()
        self._passed = 0
        """Batches that began with urgent pairs, while bulk ones waited, since the last that began with these."""

    def add(self, pairs: Pairs, urgent: bool) -> None:
        with self._lock:
            (self._urgent if urgent else self._bulk).append(pairs)

    def score(self) -> None:
        """Score what waits, as one batch, and complete the futures; cancelled requests are dropped."""
        batch = list(self._take())
        if not batch:
            return
        try:
            source, target = batch[0].languages
            texts = [pair for pairs in batch for pair in pairs.texts]
            found = iter(self._loaded.nll(texts, source=source, target=target))
            results = [[next(found) for _ in pairs.texts] for pairs in batch]
        except Exception as error:
            for pairs in batch:
                pairs.future.set_exception(HarkError(f"scoring failed: {type(error).__name__}: {error}"))
        else:
            for pairs, result in zip(batch, results, strict=True):
                pairs.future.set_result(result)

    def _take(self) -> Iterator[Pairs]:
        """Remove the next requests: those that wait and have the same languages, up to the size of a batch."""
        count, languages = 0, None
        with self._lock:
            bulk_first = not self._urgent or self._passed >= BULK_EVERY - 1
            self._passed = 0 if bulk_first or not self._bulk else self._passed + 1
        while count < FULL_BATCH:
            with self._lock:
                queue = self._bulk or self._urgent if bulk_first else self._urgent or self._bulk
                if not queue or queue[0].languages != (languages or queue[0].languages):
                    return
                pairs = queue.popleft()
            if not pairs.future.done() and pairs.future.set_running_or_notify_cancel():
                count, languages = count + len(pairs.texts), pairs.languages
                yield pairs
