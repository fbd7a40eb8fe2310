"""Batches prepared ahead, in the background, so that training never waits for them."""

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from hark.data.stream import Batches, StreamState

P = TypeVar("P")


class Prefetch(Generic[P]):
    """The batches of one rank, in order and without end, of which the next few are always ready.

    The state counts the batches that were handed out; those that are waiting are made again after a resume. It is the
    same on all ranks once each has taken as many, and any number of ranks can go on from it. `prepare` is applied to
    each batch in the background as well (to move it to pinned memory, say).

    A thread is enough: numpy lets go of the interpreter while it copies, and a batch takes about a millisecond.
    """

    def __init__(
        self,
        batches: Batches[Any],
        *,
        rank: int = 0,
        world: int = 1,
        depth: int = 4,
        prepare: Callable[[Any], P] = lambda batch: batch,
    ) -> None:
        if not 0 <= rank < world or depth < 1:
            raise ValueError(f"rank {rank} of {world} with {depth} batches ahead")
        self._batches, self._rank, self._world = batches, rank, world
        self._depth, self._prepare = depth, prepare
        self._next = 0
        self._line: _Line[P] | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> P:
        if self._line is None:
            made = map(self._prepare, self._batches.iterate(self._next, self._rank, self._world))
            self._line = _Line(made, self._depth)
            # The thread knows the line only, so that an abandoned Prefetch is collected, and this ends the thread.
            weakref.finalize(self, self._line.stop)
        try:
            batch = self._line.take()
        except BaseException:
            self.close()
            raise
        self._next += self._world
        return batch

    def state_dict(self) -> StreamState:
        return self._batches.state(self._next)

    def load_state_dict(self, state: StreamState) -> None:
        following = self._batches.following(state)
        self.close()
        self._next = following

    def close(self) -> None:
        """End the thread. Taking another batch begins anew where the last one was handed out."""
        if self._line is not None:
            self._line.stop()
            self._line = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Line(Generic[P]):
    """A thread that makes things, and the few that wait to be taken."""

    def __init__(self, made: Iterator[P], depth: int) -> None:
        self._made, self._depth = made, depth
        self._waiting: deque[P] = deque()
        self._failure: BaseException | None = None
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="hark-prefetch", daemon=True)
        self._thread.start()

    def take(self) -> P:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._failure)
            if self._waiting:
                self._changed.notify_all()
                return self._waiting.popleft()
            assert self._failure is not None
            raise self._failure

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _work(self) -> None:
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._stopped or len(self._waiting) < self._depth)
                    if self._stopped:
                        return
                thing = next(self._made)
                with self._changed:
                    self._waiting.append(thing)
                    self._changed.notify_all()
        except BaseException as failure:  # all of them are the consumer's to see, who would wait for ever otherwise
            with self._changed:
                self._failure = failure
                self._changed.notify_all()
