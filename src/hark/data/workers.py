"""Work shared out to processes, with results in the order of the jobs, so that their number changes nothing else."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from hark.errors import HarkError

Job = TypeVar("Job")
Result = TypeVar("Result")
MOST = 16  # one process reads for all of them, so more would wait for it


def available_processes() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MOST)


def run_jobs(
    processes: int, build: Callable[[], Callable[[Job], Result]], jobs: Iterable[Job]
) -> Generator[Result, None, None]:
    """The result of each job in turn; few are under way at once, so memory stays flat.

    `build` makes the function that does a job: here, where one process is enough, else once in each. Whoever may fail
    between two results has to close the generator, which ends the processes.
    """
    if processes == 1:
        yield from map(build(), jobs)
        return
    before = set(multiprocessing.active_children())
    # Spawned, not forked: the same on every system, and safe whatever threads run here.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, initializer=_start, initargs=(build,))
    pending: deque[Future[Result]] = deque()
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
        raise HarkError("a worker process died, perhaps for lack of memory; try fewer with --processes") from None
    finally:
        # Ctrl-C and failures do not wait for jobs under way; after a good end nobody is left.
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C reaches the whole group, and the parent answers it for all: processes begun in here never see it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# What this process, if it is a worker, does: made by its first job, so that errors in making it travel like any other.
_build: Callable[[], Callable[[Any], Any]]
_task: Callable[[Any], Any] | None = None


def _start(build: Callable[[], Callable[[Any], Any]]) -> None:
    global _build
    _build = build
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """A parent that was killed cannot end its workers: they go by themselves."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(job: Any) -> Any:
    global _task
    if _task is None:
        _task = _build()
    return _task(job)
