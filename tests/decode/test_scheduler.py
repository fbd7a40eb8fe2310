"""The scheduler: bounded, fair, and asking for no more than it has room for."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.decode.scheduler import Entered, Places, Scheduler, Size
from hark.errors import UserError


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=60), st.randoms(use_true_random=False))
def test_places_are_given_once_and_come_back(events: list[tuple[int, bool]], chance: "object") -> None:
    places = Places(30)
    taken: dict[int, int] = {}
    for count, wants in events:
        if wants or not taken:
            start = places.take(count)
            used = {place for first, n in taken.items() for place in range(first, first + n)}
            if start is None:  # then there is no such gap
                free = [place not in used for place in range(30)]
                assert not any(all(free[i : i + count]) for i in range(30 - count + 1))
            else:
                assert not used & set(range(start, start + count))
                assert start + count <= 30
                taken[start] = count
        else:
            start = chance.choice(sorted(taken))  # type: ignore[attr-defined]
            places.give_back(start, taken.pop(start))
        assert places.free == 30 - sum(taken.values())
    for start, count in taken.items():
        places.give_back(start, count)
    assert places.by_size == [(30, 0)]


def scheduler(
    requests: Iterator[int | None] | list[int | None], places: int = 20, rows: int = 8
) -> Scheduler[int, int]:
    """A request is the number of places that its one search needs; it has two rows."""
    return Scheduler(requests, lambda _, need: [need], lambda need: Size(need, 2), places, rows)


@given(st.lists(st.one_of(st.none(), st.integers(1, 20)), max_size=40), st.randoms(use_true_random=False))
def test_first_come_first_served_within_bounds(requests: list[int | None], chance: "object") -> None:
    line = scheduler(list(requests))
    running: list[Entered[int]] = []
    order: list[int] = []
    for _ in range(1000):
        entered = line.enter()
        order += [each.job for each in entered]
        running += entered
        assert sum(each.size.places for each in running) <= 20
        assert sum(each.size.rows for each in running) <= 8
        if running:
            line.leave(running.pop(chance.randrange(len(running))))  # type: ignore[attr-defined]
        if line.idle:
            break
    assert line.idle
    assert order == [each for each in requests if each is not None]


def test_a_long_one_is_not_passed_by_short_ones() -> None:
    line = scheduler([5, 5, 20, 1, 1])
    first, second = line.enter()
    line.leave(first)
    assert line.enter() == []  # the long one waits for room; the short ones behind it would fit
    line.leave(second)
    assert [each.job for each in line.enter()] == [20]


def test_requests_are_taken_as_there_is_room() -> None:
    taken = []

    def requests() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield 5

    line = scheduler(requests())
    assert len(line.enter()) == 4
    assert len(taken) <= 5  # one may stand in the line
    assert len(line.enter()) == 0
    assert len(taken) <= 5


def test_nothing_waiting_now_is_not_the_end() -> None:
    line = scheduler([None, 3, None, None, 4])
    assert line.enter() == []
    assert not line.idle
    assert [each.job for each in line.enter()] == [3]
    assert line.enter() == []
    assert [each.job for each in line.enter()] == [4]


def test_what_a_request_needs_besides_comes_before_others() -> None:
    line = scheduler([20, 1, 2])
    (first,) = line.enter()
    line.enter()
    line.leave(first)
    line.put_first([7, 8])
    assert [each.job for each in line.enter(3)] == [7, 8, 1]


def test_more_rows_than_there_are_go_alone() -> None:
    line = Scheduler([1, 2, 3], lambda _, need: [need], lambda need: Size(need, 9 if need == 2 else 1), 20, 4)
    (first,) = line.enter()
    line.leave(first)
    (second,) = line.enter()
    assert second.job == 2
    assert line.enter() == []
    line.leave(second)
    assert [each.job for each in line.enter()] == [3]


def test_what_can_never_fit_is_refused() -> None:
    with pytest.raises(UserError, match=r"21 tokens.*room for 20"):
        scheduler([21]).enter()
