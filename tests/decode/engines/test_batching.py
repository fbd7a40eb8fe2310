"""The batching of requests for CTranslate2."""

from collections.abc import Iterator, Sequence
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import DecodeConfig
from hark.decode.engines.batching import (
    BATCH_TOKENS,
    FIRST,
    LAST,
    POOL_BATCHES,
    ROWS,
    SEARCHED,
    SENTENCES,
    Batcher,
    CallOptions,
    QueuedRequest,
)
from hark.decode.intake import BULK_EVERY, Intake
from hark.decode.request import Request
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


@given(requests)
def test_each_request_is_taken_once_oldest_first_in_uniform_batches(given_requests: list[Request]) -> None:
    waiting = set(range(len(given_requests)))
    for batch in batches(batcher(given_requests)[0]):
        assert min(waiting) == batch[0].number
        assert len({each.options for each in batch}) == 1
        assert len(batch) <= SENTENCES
        assert len(batch) == 1 or len(batch) * batch[0].options.rows <= ROWS
        assert len(batch) == 1 or len(batch) * max(each.length for each in batch) <= BATCH_TOKENS
        for each in batch:
            waiting.remove(each.number)
            assert each.request is given_requests[each.number]
    assert not waiting


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
    chooser.restart()
    assert len(chooser.take()) == FIRST


def test_nbest_requires_a_beam() -> None:
    with pytest.raises(UserError, match=r"raise decode\.beam"):
        CallOptions.of(0, Request([3], DecodeConfig(beam=1, patience=2.0, nbest=2)))


def test_towards_the_end_batches_become_smaller() -> None:
    for beam, most in ((1, SENTENCES), (4, SEARCHED)):
        stream = [Request([4] * 10, DecodeConfig(beam=beam)) for _ in range(640)]
        sizes = [len(batch) for batch in fed(stream, workers=2)]
        assert sum(sizes) == 640
        assert max(sizes) == most
        assert all(size <= LAST for size in sizes[-2:])


def test_urgent_requests_come_first_and_bulk_has_its_turn() -> None:
    bulk, urgent = Request([4] * 5), Request([4] * 9, DecodeConfig(beam=1), urgent=True)
    chooser, _ = batcher([bulk] * 40 + [urgent] * 2000)
    turns = [batch[0].request.urgent for batch, _ in zip(batches(chooser), range(2 * BULK_EVERY), strict=False)]
    assert turns == [*[True] * (BULK_EVERY - 1), False] * 2
