"""The thread of a loaded model, in which everything happens that uses it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from hark.engine.interface import EngineError

MAX_ORDERS_PER_STEP = 64
"""Orders that are taken from the inbox before the next step of the engine, which must not run dry meanwhile."""


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
        if future.cancelled():
            self._wake()  # the thread may be waiting for the last open future

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


def fail(future: "Future[Any]", error: Exception) -> None:
    """Complete a future with an error, unless it is done."""
    with suppress(InvalidStateError):
        future.set_exception(error)
