"""Prefetching of batches in a background thread, so that training does not wait for them."""

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, Self, TypeVar

from hark.data.stream import Batches, StreamState

P = TypeVar("P")


class Prefetch(Generic[P]):
    """The endless batch stream of one rank, with the next few batches prefetched.

    The state counts the batches handed out; prefetched ones are rebuilt after a resume. It is the same on all ranks
    once each has taken equally many, and any number of ranks can resume from it. `prepare` also runs in the background
    on each batch (e.g. to move it to pinned memory).

    One thread is enough: numpy releases the GIL while it copies, and a batch takes three milliseconds, also if
    it mixes hundreds of corpora.
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
            raise ValueError(f"invalid rank {rank} of {world} or depth {depth}")
        self._batches, self._rank, self._world = batches, rank, world
        self._depth, self._prepare = depth, prepare
        self._next = 0
        self._queue: _PrefetchQueue[P] | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> P:
        if self._queue is None:
            batches = map(self._prepare, self._batches.iterate(self._next, self._rank, self._world))
            self._queue = _PrefetchQueue(batches, self._depth)
            # The thread refers only to the queue, so an abandoned Prefetch is collected, which stops the thread.
            weakref.finalize(self, self._queue.stop)
        try:
            batch = self._queue.take()
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
        """Stop the thread. Taking another batch restarts it after the last batch handed out."""
        if self._queue is not None:
            self._queue.stop()
            self._queue = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _PrefetchQueue(Generic[P]):
    """A bounded queue filled by a background thread."""

    def __init__(self, items: Iterator[P], depth: int) -> None:
        self._items, self._depth = items, depth
        self._ready: deque[P] = deque()
        self._failure: BaseException | None = None
        self._stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="hark-prefetch", daemon=True)
        self._thread.start()

    def take(self) -> P:
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._failure)
            if self._ready:
                self._changed.notify_all()
                return self._ready.popleft()
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
                    self._changed.wait_for(lambda: self._stopped or len(self._ready) < self._depth)
                    if self._stopped:
                        return
                item = next(self._items)
                with self._changed:
                    self._ready.append(item)
                    self._changed.notify_all()
        except BaseException as failure:  # pass every exception to the consumer, which would otherwise wait for ever
            with self._changed:
                self._failure = failure
                self._changed.notify_all()
