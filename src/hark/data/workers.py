"""Worker processes: run jobs in parallel and return results in job order, independent of the number of processes."""

import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from hark.errors import HarkError
from hark.machine import available_cores, check_workers

Job = TypeVar("Job")
Result = TypeVar("Result")
MAX_PROCESSES = 16  # one process feeds them all, so more would only wait for it


def available_processes() -> int:
    return min(available_cores(), MAX_PROCESSES)


def run_jobs(
    processes: int, build: Callable[[], Callable[[Job], Result]], jobs: Iterable[Job]
) -> Generator[Result, None, None]:
    """Yield the result of each job in order. Only a few jobs are in flight at once, so memory stays bounded.

    `build` creates the function that runs a job: in this process if `processes` is 1, otherwise once in each worker. A
    caller that may fail between results must close the generator, which terminates the workers.
    """
    check_workers(processes, "--processes")
    if processes == 1:
        yield from map(build(), jobs)
        return
    before = set(multiprocessing.active_children())
    # Spawn, not fork: the same on every system, and safe with threads.
    context = multiprocessing.get_context("spawn")
    with tempfile.NamedTemporaryFile(prefix="hark-") as built:
        # Passed in a file: if a worker dies before it has read start-up data larger than a pipe buffer, the parent
        # blocks on the write for ever.
        pickle.dump(build, built)
        built.flush()
        with _without_interrupts():  # starts Python's resource tracker, which must outlive the workers
            pool = ProcessPoolExecutor(processes, context, initializer=_start, initargs=(built.name,))
        yield from _results(pool, processes, jobs, before)


def _results(
    pool: ProcessPoolExecutor, processes: int, jobs: Iterable[Any], before: set[Any]
) -> Generator[Any, None, None]:
    """Yield results in job order; on exit, terminate all children that were not there before."""
    pending: deque[Future[Any]] = deque()
    try:
        for job in jobs:
            with _without_interrupts():
                pending.append(pool.submit(_run, job))
            while pending and (len(pending) > 2 * processes or pending[0].done()):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
        pool.shutdown()
    except BrokenProcessPool:
        raise HarkError("a worker process died, possibly out of memory; try fewer --processes") from None
    finally:
        # On Ctrl-C or failure, do not wait for running jobs; after success no child is left.
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Defer signals while starting processes, and let those processes ignore SIGINT and SIGHUP.

    Ctrl-C and a closed terminal signal the whole process group; the parent handles them for all. Workers still get
    SIGTERM, which is how the pool terminates them. Signals that arrive in the meantime are raised on exit, because a
    half-started process can neither work nor be terminated. Blocking alone is not enough: another thread may receive
    the signal, and Python then runs the handler in this one.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread handles signals
        yield
        return
    arrived: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    caught = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in caught:
        signal.signal(number, lambda number, _: arrived.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in caught.items():
            signal.signal(number, handler)
        for received in arrived:
            signal.raise_signal(received)


# The task of a worker process: built by its first job, so that errors in building it propagate like any other.
_built: str
_task: Callable[[Any], Any] | None = None


def _start(built: str) -> None:
    global _built
    _built = built
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """Exit when the parent dies: a killed parent cannot terminate its workers."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(job: Any) -> Any:
    global _task
    if _task is None:
        with open(_built, "rb") as file:
            _task = pickle.load(file)()
    return _task(job)
