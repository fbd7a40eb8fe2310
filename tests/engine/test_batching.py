"""The batching of requests for CTranslate2."""

from collections.abc import Iterator, Sequence
from itertools import count, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import DecodeConfig
from hark.engine.batching import (
    BATCH_TOKENS,
    FIRST,
    OLDEST_EVERY,
    POOL_BATCHES,
    ROWS,
    SEARCHED,
    SENTENCES,
    Batcher,
    CallOptions,
    QueuedRequest,
    Workload,
)
from hark.engine.interface import BULK_EVERY, Intake, Request
from hark.errors import UserError


def batcher(requests: Sequence[Request], workers: int = 1) -> tuple[Batcher, Intake[QueuedRequest]]:
    intake: Intake[QueuedRequest] = Intake(
        lambda number, each: QueuedRequest(number, each, CallOptions.of(number, each), each.limit, len(each.prefix))
    )
    for each in requests:
        intake.submit(each)
    return Batcher(intake, workers), intake


def batches(chooser: Batcher) -> Iterator[list[QueuedRequest]]:
    return iter(chooser.take, [])


def work_of(batch: Sequence[QueuedRequest]) -> int:
    return sum(each.work for each in batch)


def fed(stream: Sequence[Request], workers: int = 1) -> Iterator[list[QueuedRequest]]:
    """The batches of a stream whose client submits as there is room."""
    chooser, intake = batcher([], workers)
    rest = iter(stream)
    while True:
        for each in islice(rest, max(0, chooser.room)):
            intake.submit(each)
        if not (batch := chooser.take()):
            return
        yield batch


searches = st.sampled_from(
    [DecodeConfig(), DecodeConfig(beam=1), DecodeConfig(min_length=2), DecodeConfig(diverse=True, nbest=3)]
)
requests = st.lists(
    st.builds(
        lambda length, search, prefix: Request([4] * length, search, [5] * prefix),
        st.integers(1, 900), searches, st.integers(0, 1),
    ),
    max_size=150,
)  # fmt: skip


@given(requests, st.integers(1, 4))
def test_each_request_is_taken_once_in_uniform_batches(given_requests: list[Request], workers: int) -> None:
    waiting, passed = set(range(len(given_requests))), 0
    for place, batch in enumerate(batches(batcher(given_requests, workers)[0])):
        passed = 0 if min(waiting) in {each.number for each in batch} else passed + 1
        assert passed == 0 if place == 0 else passed < OLDEST_EVERY
        assert len({each.options for each in batch}) == 1
        assert len(batch) <= SENTENCES
        assert len(batch) == 1 or len(batch) * batch[0].options.rows <= ROWS
        assert len(batch) == 1 or len(batch) * max(each.length for each in batch) <= BATCH_TOKENS
        for each in batch:
            waiting.remove(each.number)
            assert each.request is given_requests[each.number]
    assert not waiting


def test_the_oldest_request_is_first_while_the_queue_is_long() -> None:
    stream = [Request([4] * (1 + 7 * i % 50), DecodeConfig(beam=1)) for i in range(2000)]
    waiting, chosen = set(range(2000)), fed(stream)
    while len(waiting) > 500:
        batch = next(chosen)
        assert batch[0].number == min(waiting)
        waiting -= {each.number for each in batch}


def test_batches_have_similar_lengths() -> None:
    stream = [Request([4] * (10 if i % 2 else 100)) for i in range(1000)]
    lengths = [{each.length for each in batch} for batch in fed(stream)]
    assert sum(len(each) > 1 for each in lengths) <= 2  # at the end of the stream


def test_the_first_batch_is_small_and_room_grows_with_the_batches() -> None:
    chooser, intake = batcher([Request([4, 3], DecodeConfig(beam=1))] * 2000)
    assert batcher([])[0].room == POOL_BATCHES * FIRST
    sizes = [len(batch) for batch, _ in zip(batches(chooser), range(8), strict=False)]
    assert sizes[0] == FIRST
    assert sizes == sorted(sizes)
    assert sizes[-1] == SENTENCES
    assert chooser.room == POOL_BATCHES * SENTENCES - len(intake)


def test_nbest_requires_a_beam() -> None:
    with pytest.raises(UserError, match=r"raise decode\.beam"):
        CallOptions.of(0, Request([3], DecodeConfig(beam=1, patience=2.0, nbest=2)))


def test_after_the_last_batch_it_starts_small_again() -> None:
    chooser, intake = batcher([Request([4] * 5)] * 40)
    for batch in list(batches(chooser)):
        chooser.finish(batch)
    for _ in range(100):
        intake.submit(Request([4] * 5))
    assert len(chooser.take()) == FIRST


def finished_at(stream: Sequence[Request], workers: int) -> list[int]:
    """When each worker has finished, with batches that take exactly as long as they have work."""
    chooser, intake = batcher([], workers)
    rest, free, running = iter(stream), [0] * workers, list[tuple[int, list[QueuedRequest]]]()
    while True:
        for each in islice(rest, max(0, chooser.room)):
            intake.submit(each)
        while len(running) < workers + 1 and (batch := chooser.take()):
            worker = free.index(min(free))
            free[worker] += work_of(batch)
            running.append((free[worker], batch))
        if not running:
            return free
        running.sort(key=lambda each: each[0])
        chooser.finish(running.pop(0)[1])


@pytest.mark.parametrize("workers", [2, 3, 4, 8])
@pytest.mark.parametrize("beam", [1, 4, 6])
@pytest.mark.parametrize("count", [48, 192, 640])
def test_workers_finish_together(count: int, beam: int, workers: int) -> None:
    stream = [Request([4] * (5 + 13 * i % 41), DecodeConfig(beam=beam)) for i in range(count)]
    ends = finished_at(stream, workers)
    assert sum(ends) == sum(len(each.source) * beam for each in stream)
    assert max(ends) - min(ends) <= 3 * 45 * beam  # less than three long sentences


def test_few_sentences_are_divided_too() -> None:
    chooser, _ = batcher([Request([4] * 10)] * 8, workers=2)
    assert [len(batch) for batch in batches(chooser)] == [4, 4]


def test_towards_the_end_the_longest_come_first() -> None:
    chooser, _ = batcher([Request([4] * (3 + i)) for i in range(30)], workers=2)
    first, *later = batches(chooser)
    assert first[0].number == 0
    assert [batch[0].length for batch in later] == sorted((batch[0].length for batch in later), reverse=True)
    assert later[0][0].length == 32


def test_a_long_queue_has_full_batches() -> None:
    for beam, most in ((1, SENTENCES), (4, SEARCHED)):
        sizes = [len(batch) for batch in fed([Request([4] * 10, DecodeConfig(beam=beam))] * 2000, workers=2)]
        assert sum(sizes) == 2000
        assert sizes[3:-8] == [most] * len(sizes[3:-8])


def test_fewer_workers_make_larger_batches() -> None:
    chooser, _ = batcher([Request([4] * 10)] * 8, workers=2)
    chooser.use_workers(1)
    assert [len(batch) for batch in batches(chooser)] == [8]


def test_a_small_document_is_not_starved_by_sentences() -> None:
    """More sentences wait than a batch is chosen from. One bulk sentence in eight batches would be 320 for these 40."""
    chooser, intake = batcher([Request([4] * (5 + number)) for number in range(40)])
    taken = left = 0
    while any(not each.request.urgent for each in intake.peek(10**6)):
        while len(intake) < 1000:
            intake.submit(Request([4] * (3 + taken % 50), urgent=True))
        chooser.take()
        taken += 1
        left = sum(not each.request.urgent for each in intake.peek(10**6))
    assert left == 0
    assert taken <= BULK_EVERY * 4


def test_urgent_requests_come_first_and_bulk_has_its_turn() -> None:
    bulk, urgent = Request([4] * 5), Request([4] * 9, DecodeConfig(beam=1), urgent=True)
    chooser, _ = batcher([bulk] * 40 + [urgent] * 2000)
    turns = [batch[0].request.urgent for batch, _ in zip(batches(chooser), range(2 * BULK_EVERY), strict=False)]
    assert turns == [*[True] * (BULK_EVERY - 1), False] * 2


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
