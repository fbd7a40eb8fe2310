"""The estimate of what each worker still has to do."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.decode.engines.workload import Workload


def started(workers: int, *batches: float) -> Workload:
    workload = Workload(workers)
    for number, work in enumerate(batches):
        workload.start(number, work)
    return workload


def test_idle_workers_divide_the_work_evenly() -> None:
    assert started(4).share(100) == 25


def test_a_free_worker_catches_up_with_the_others() -> None:
    assert started(2, 60).share(100) == 80


def test_a_worker_with_more_than_its_part_gets_nothing() -> None:
    assert started(3, 1000).share(100) == 50


def test_a_waiting_batch_counts_for_the_worker_that_is_free_first() -> None:
    assert started(2, 30, 10, 50).share(40) == 35  # 30 and 10 + 50: the first worker takes 35, the second 5


def test_a_batch_that_ends_tells_how_far_the_others_are() -> None:
    workload = started(2, 30, 100, 50)
    workload.finish(0)  # 70 and 50 are left
    assert workload.share(40) == 30


def test_a_late_batch_counts_as_almost_finished() -> None:
    workload = started(2, 10, 100)
    workload.finish(1)
    assert workload.share(40) == 20


def test_it_is_empty_when_all_batches_are_finished() -> None:
    workload = started(1, 5, 7)
    workload.finish(0)
    assert workload
    workload.finish(1)
    assert not workload


@given(st.integers(1, 8), st.lists(st.integers(1, 100), min_size=1, max_size=20), st.integers(1, 1000))
def test_workers_that_take_their_shares_finish_together(workers: int, busy: list[int], waiting: int) -> None:
    workload, numbers, rest = started(workers, *busy), count(len(busy)), float(waiting)
    ends = [0.0] * workers
    for work in busy:
        ends[ends.index(min(ends))] += work
    before = max(ends)
    while rest > 1e-6:
        share = workload.share(rest)
        workload.start(next(numbers), share)
        ends[ends.index(min(ends))] += share
        rest -= share
    assert max(ends) == pytest.approx(max(before, sum(ends) / workers))
