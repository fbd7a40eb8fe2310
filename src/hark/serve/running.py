"""Loaded models and their threads: everything that uses a model happens in its thread.

Of a model that translates there may be two: one translates, the other scores.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from hark.engine.interface import BULK_EVERY, EngineError
from hark.errors import HarkError
from hark.facts import LanguagePair
from hark.machine import available_cores
from hark.translate.load import Loaded
from hark.translate.piece import Options
from hark.translate.second_look import NLL
from hark.translate.tasks import fail
from hark.translate.translation import Sentence, Translation

OnSentence = Callable[[int, int, Sentence], object]
"""Called with the index of a finished sentence, the number of sentences, and the sentence."""
MAX_INLINE_CHARS = 4_000
"""A text of so many characters is split into sentences in another thread, while this model goes on translating."""
FULL_BATCH = 64
"""Pairs in a batch at which no further request is added to it, so that an urgent one does not have to wait long."""

MAX_ORDERS_PER_STEP = 64
"""Orders that are taken from the inbox before the next step of the engine, which must not run dry meanwhile."""

NLLs = list[NLL | None]
"""Of each pair; None: it is too long for the model."""


class ModelThread(ABC):
    """Works for all clients with one model, in one thread, which sleeps while there is nothing to do.

    Any thread may give orders, and gets futures. Everything else happens in that thread: no client waits for a lock,
    and an engine need not be thread-safe.
    """

    def __init__(self, name: str) -> None:
        """A derived class calls `start` when it is ready."""
        self.name = name
        self.failed = False
        """Whether the engine failed. Then the model must be loaded again."""
        self.sharing: Callable[[], int] = lambda: 1
        """Returns the number of models that are working and share the cores."""
        self.steps = self.step_sentences = 0
        """Steps of the engine, and the sum over them of the sentences that it was decoding."""
        self._inbox: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._open: set[Future[Any]] = set()
        self._end: EngineError | None = None
        """Why nothing may be submitted any more. Set before the thread may end, so that no future is left behind."""
        self._thread = Thread(target=self._run, name=f"hark {name}", daemon=True)

    @property
    def open(self) -> int:
        """The number of texts that are being worked on, wait for it, or are being prepared."""
        return len(self._open)

    @property
    @abstractmethod
    def working(self) -> bool:
        """Whether the engine is working, or about to: then it must be stepped."""

    @property
    @abstractmethod
    def queued(self) -> int:
        """The number of sentences that wait for the engine."""

    @property
    @abstractmethod
    def decoding(self) -> int:
        """The number of sentences that the engine is working on."""

    @abstractmethod
    def step(self) -> None:
        """Step the engine. Only what it raises means that it failed."""

    @abstractmethod
    def free(self) -> None:
        """Free the memory of the model."""

    def stop(self) -> None:  # noqa: B027
        """End what runs beside the thread, when this ends. May be called twice."""

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Finish what is open, then free the memory. What is submitted meanwhile or later fails."""
        self._end = self._end or EngineError(f"{self.name}: the model is closed")
        self._inbox.put(None)
        self._thread.join()

    def _new_future(self) -> "Future[Any]":
        future: Future[Any] = Future()
        self._open.add(future)
        future.add_done_callback(self._forget)
        if self._end is not None:
            fail(future, self._end)
        return future

    def _forget(self, future: "Future[Any]") -> None:
        self._open.discard(future)
        if future.cancelled() or self._end is not None:
            self._wake()  # the thread may be waiting for the last open future, which another thread completed

    def _wake(self) -> None:
        """Make the thread look for work."""
        self._inbox.put(lambda: None)

    def _guard(self, future: "Future[Any]", function: Callable[[], object]) -> None:
        """Call a function; an error fails the future."""
        if future.done():
            return
        try:
            function()
        except Exception as error:
            fail(future, error)

    def _run(self) -> None:
        """Do what arrives in the inbox; step while there is work; sleep otherwise."""
        closing, since_step = False, 0
        try:
            while self._open or not closing:
                todo = None
                if not self.working or since_step < MAX_ORDERS_PER_STEP:
                    with suppress(Empty):
                        todo = self._inbox.get(block=not self.working)
                        since_step += 1
                        closing = closing or todo is None
                if todo is not None:
                    todo()
                elif self.working:
                    since_step = 0
                    self.steps += 1
                    self.step_sentences += self.decoding
                    self.step()
        except Exception as error:  # only the engine raises here: it is in an unknown state
            self.failed = True
            self.stop()  # it completes some of the open futures
            self._end = EngineError(f"{self.name}: the engine failed: {type(error).__name__}: {error}")
            for future in list(self._open):
                fail(future, self._end)
        finally:
            self.stop()
            self.free()


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


class RunningModel(ModelThread):
    """Translates the texts of all clients with one model. An engine that can score at the same time does so in a second
    thread, so that neither waits."""

    def __init__(self, name: str, loaded: Loaded, preparing: Executor, threads: int | None = None) -> None:
        """`preparing` runs what takes long before a text can be translated; `threads`: by default one per core."""
        super().__init__(name)
        self.loaded = loaded
        self._preparing = preparing
        self._tasks = loaded.translator.tasks
        self._scoring = Scoring(loaded)
        self._scorer = ThreadPoolExecutor(1, f"hark score {name}") if loaded.engine.scores_meanwhile else None
        self._threads = threads or available_cores()
        self.start()

    @property
    def working(self) -> bool:
        return self._tasks.working

    @property
    def queued(self) -> int:
        return len(self._tasks.engine.intake)

    @property
    def decoding(self) -> int:
        return max(0, self._tasks.pending - self.queued)

    def submit(self, text: str, options: Options, on_sentence: OnSentence | None = None) -> "Future[Translation]":
        """Start translating a text. Cancelling the future frees its place. `on_sentence` is called in another thread.

        An engine that fails raises `EngineError` from all open futures.
        """
        future: Future[Translation] = self._new_future()
        start = partial(self._guard, future, partial(self._begin, text, options, on_sentence, future))
        if len(text) >= MAX_INLINE_CHARS:
            try:
                self._preparing.submit(start).add_done_callback(lambda _: self._wake())
            except RuntimeError:  # it is shut down
                fail(future, EngineError("the server is shutting down"))
        else:
            self._inbox.put(start)
        return future

    def _begin(
        self, text: str, options: Options, on_sentence: OnSentence | None, future: "Future[Translation]"
    ) -> None:
        self.loaded.translator.submit(text, options, on_sentence, future)
        # `_forget` wakes the thread before the tasks know that they are cancelled: it may sleep again by then.
        future.add_done_callback(lambda done: self._wake() if done.cancelled() else None)

    def nll(self, texts: Sequence[tuple[str, str]], languages: LanguagePair, urgent: bool) -> "Future[NLLs]":
        """Return how unlikely translations are, see `Loaded.nll`. What waits for it is scored in one batch."""
        future: Future[NLLs] = self._new_future()
        self._scoring.add(Pairs(texts, languages, future), urgent)
        if self._scorer is None:
            self._inbox.put(self._scoring.score)
        else:
            try:
                self._scorer.submit(self._scoring.score)
            except RuntimeError:  # it is shut down
                fail(future, self._end or EngineError(f"{self.name}: the engine failed"))
        return future

    def step(self) -> None:
        self._tasks.engine.use_threads(self._threads // max(1, self.sharing()))
        self._tasks.advance()  # what it raises ends this thread, which then fails the open futures

    def stop(self) -> None:
        if self._scorer is not None:
            self._scorer.shutdown()

    def free(self) -> None:
        self.loaded.close()
