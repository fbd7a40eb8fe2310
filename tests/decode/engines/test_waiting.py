"""Who stands beside whom in a batch for CTranslate2."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.config import DecodeConfig
from hark.decode.engines.waiting import (
    BATCH_TOKENS,
    FIRST,
    LAST,
    POOL_BATCHES,
    ROWS,
    SEARCHED,
    SENTENCES,
    Options,
    Pool,
    Waiting,
)
from hark.decode.request import Request
from hark.errors import UserError


def batches(pool: Pool) -> Iterator[list[Waiting]]:
    while True:
        pool.fill()
        if not (batch := pool.take()):
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
def test_everybody_is_taken_once_the_oldest_first_and_in_like_company(given_requests: list[Request]) -> None:
    waiting = set(range(len(given_requests)))
    for batch in batches(Pool(given_requests, lambda request: request.limit)):
        assert min(waiting) == batch[0].number
        assert len({each.options for each in batch}) == 1
        assert len(batch) <= SENTENCES
        assert len(batch) == 1 or len(batch) * batch[0].options.rows <= ROWS
        assert len(batch) == 1 or len(batch) * max(each.length for each in batch) <= BATCH_TOKENS
        for each in batch:
            waiting.remove(each.number)
            assert each.request is given_requests[each.number]
    assert not waiting


def test_neighbours_are_of_like_length() -> None:
    stream = [Request([4] * (10 if i % 2 else 100)) for i in range(1000)]
    lengths = [{each.length for each in batch} for batch in batches(Pool(stream, lambda request: request.limit))]
    assert sum(len(each) > 1 for each in lengths) <= 2  # where the stream ends


def test_the_first_batch_is_small_and_no_more_is_taken_than_there_is_room_for() -> None:
    taken = 0

    def stream() -> Iterator[Request]:
        nonlocal taken
        while True:
            taken += 1
            yield Request([4, 3], DecodeConfig(beam=1))

    pool = Pool(stream(), lambda request: request.limit)
    pool.fill()
    assert taken <= POOL_BATCHES * FIRST
    assert len(pool.take()) == FIRST
    sizes = [len(batch) for batch, _ in zip(batches(pool), range(8), strict=False)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == SENTENCES
    assert taken <= POOL_BATCHES * SENTENCES + FIRST + sum(sizes) + 1


def test_nothing_waiting_just_now() -> None:
    pool = Pool(iter([Request([4, 3]), None, None, Request([5, 3])]), lambda request: request.limit)
    pool.fill()
    assert [each.number for each in pool.take()] == [0]
    pool.fill()
    assert pool.take() == []
    assert not pool.exhausted
    pool.fill()
    assert [each.number for each in pool.take()] == [1]
    assert pool.exhausted


def test_greedy_search_finds_one() -> None:
    with pytest.raises(UserError, match=r"raise decode\.beam"):
        Options.of(0, Request([3], DecodeConfig(beam=1, patience=2.0, nbest=2)))


def test_towards_the_end_batches_become_smaller() -> None:
    for beam, most in ((1, SENTENCES), (4, SEARCHED)):
        stream = [Request([4] * 10, DecodeConfig(beam=beam)) for _ in range(240)]
        sizes = [len(batch) for batch in batches(Pool(stream, lambda request: request.limit, workers=2))]
        assert sum(sizes) == 240
        assert max(sizes) == most
        assert all(size <= LAST for size in sizes[-2:])
