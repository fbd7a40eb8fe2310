"""Work shared out to processes, with results in the order of the jobs, so that their number changes nothing else."""

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
MOST = 16  # one process reads for all of them, so more would wait for it


def available_processes() -> int:
    return min(available_cores(), MOST)


def run_jobs(
    processes: int, build: Callable[[], Callable[[Job], Result]], jobs: Iterable[Job]
) -> Generator[Result, None, None]:
    """The result of each job in turn; few are under way at once, so memory stays flat.

    `build` makes the function that does a job: here, where one process is enough, else once in each. Whoever may fail
    between two results has to close the generator, which ends the processes.
    """
    check_workers(processes, "--processes")
    if processes == 1:
        yield from map(build(), jobs)
        return
    before = set(multiprocessing.active_children())
    # Spawned, not forked: the same on every system, and safe whatever threads run here.
    context = multiprocessing.get_context("spawn")
    with tempfile.NamedTemporaryFile(prefix="hark-") as built:
        # By a file: a process that dies before it has read what it is started with, more than a pipe holds, leaves its
        # parent writing for ever.
        pickle.dump(build, built)
        built.flush()
        with _without_interrupts():  # this starts Python's own helper, which must outlive the workers
            pool = ProcessPoolExecutor(processes, context, initializer=_start, initargs=(built.name,))
        yield from _results(pool, processes, jobs, before)


def _results(
    pool: ProcessPoolExecutor, processes: int, jobs: Iterable[Any], before: set[Any]
) -> Generator[Any, None, None]:
    """In the order of the jobs; in the end no child is left but those of before."""
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
        raise HarkError("a worker process died, perhaps for lack of memory; try fewer with --processes") from None
    finally:
        # Ctrl-C and failures do not wait for jobs under way; after a good end nobody is left.
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        pool.shutdown(cancel_futures=True)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C and a closed terminal reach the whole group, and the parent answers for all: processes begun in here
    never see them. SIGTERM they do see: it is how the pool ends them.

    What arrives meanwhile is answered at the end: a process that is half started could neither work nor be ended.
    Blocking is not enough for that, because a signal may be taken by another thread, and is then answered in this one.
    """
    if threading.current_thread() is not threading.main_thread():  # which alone is told of signals
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
        for each in arrived:
            signal.raise_signal(each)


# What this process, if it is a worker, does: made by its first job, so that errors in making it travel like any other.
_built: str
_task: Callable[[Any], Any] | None = None


def _start(built: str) -> None:
    global _built
    _built = built
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
        with open(_built, "rb") as file:
            _task = pickle.load(file)()
    return _task(job)
