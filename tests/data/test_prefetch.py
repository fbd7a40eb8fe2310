"""Prefetching changes only when batches are built."""

import gc
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from hark.config import BatchConfig
from hark.data.batches import PackedBatches
from hark.data.prefetch import Prefetch
from hark.errors import UserError
from hark.text.tokenizer import SPECIAL
from tests.data.stores import realistic


@pytest.fixture(scope="module")
def batches() -> PackedBatches:
    return PackedBatches([("a", 1.0, [realistic(300)])], BatchConfig(batch_tokens=500), SPECIAL)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    gc.collect()
    assert not threads()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hark-prefetch"]


def wait_until(condition) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_yields_the_stream_in_order(batches: PackedBatches) -> None:
    with Prefetch(batches) as stream:
        for i in range(3 * batches.batches_per_epoch):
            batch = next(stream)
            assert batch.index == i
            assert np.array_equal(batch.streams["source"].tokens, batches[i].streams["source"].tokens)


@pytest.mark.parametrize("depth", [1, 5])
def test_state_does_not_count_prefetched_batches(batches: PackedBatches, depth: int) -> None:
    prepared: list[int] = []

    def prepare(batch):
        prepared.append(batch.index)
        return batch

    with Prefetch(batches, depth=depth, prepare=prepare) as stream:
        assert [next(stream).index for _ in range(7)] == list(range(7))
        wait_until(lambda: len(prepared) == 7 + depth)
        state = stream.state_dict()
        time.sleep(0.02)
        assert len(prepared) == 7 + depth, "prefetches at most `depth` batches"
    assert state["next"] == 7
    assert set(map(type, state.values())) == {int}
    with Prefetch(batches) as resumed:
        resumed.load_state_dict(state)
        assert next(resumed).index == 7


def test_a_stream_resumes_with_another_number_of_ranks(batches: PackedBatches) -> None:
    seen: list[int] = []
    state = batches.state(0)
    for world in (1, 3, 2, 4):
        streams = [Prefetch(batches, rank=rank, world=world) for rank in range(world)]
        for stream in streams:
            stream.load_state_dict(state)
        for _ in range(5):
            seen += [next(stream).index for stream in streams]
        states = [stream.state_dict() for stream in streams]
        assert all(each == states[0] for each in states)
        state = states[0]
        for stream in streams:
            stream.close()
    assert seen == list(range(5 * (1 + 3 + 2 + 4)))


def test_loading_an_earlier_state_rewinds(batches: PackedBatches) -> None:
    with Prefetch(batches) as stream:
        begin = stream.state_dict()
        first = [next(stream).index for _ in range(4)]
        stream.load_state_dict(begin)
        assert [next(stream).index for _ in range(4)] == first


def test_the_state_of_another_stream_is_refused(batches: PackedBatches) -> None:
    other = PackedBatches([("a", 1.0, [realistic(300, seed=1)])], BatchConfig(batch_tokens=500), SPECIAL)
    reseeded = PackedBatches([("a", 1.0, [realistic(300)])], BatchConfig(batch_tokens=500, seed=2), SPECIAL)
    stream = Prefetch(batches)
    for wrong, message in ((other, "the data or the batch settings"), (reseeded, "batches.seed")):
        with pytest.raises(UserError, match=message) as raised:
            stream.load_state_dict(wrong.state(5))
        assert "\n" not in str(raised.value)


def test_a_failure_reaches_the_consumer_after_the_good_batches(batches: PackedBatches) -> None:
    def prepare(batch):
        if batch.index == 3:
            raise RuntimeError("spoiled")
        return batch

    stream = Prefetch(batches, prepare=prepare)
    assert [next(stream).index for _ in range(3)] == [0, 1, 2]
    for _ in range(2):  # the second call raises again instead of blocking
        with pytest.raises(RuntimeError, match="spoiled"):
            next(stream)
    assert stream.state_dict()["next"] == 3
    assert not threads()


def test_closing_stops_the_thread_and_reading_can_continue(batches: PackedBatches) -> None:
    stream = Prefetch(batches)
    next(stream)
    assert threads()
    stream.close()
    stream.close()
    assert not threads()
    assert next(stream).index == 1
    stream.close()


def test_an_abandoned_stream_stops_its_thread(batches: PackedBatches) -> None:
    stream = Prefetch(batches)
    for batch in stream:
        if batch.index == 2:
            break
    assert threads()
    del stream
    gc.collect()
    assert not threads()


def test_an_invalid_rank_is_refused(batches: PackedBatches) -> None:
    with pytest.raises(ValueError, match="rank 2 of 2"):
        Prefetch(batches, rank=2, world=2)
