"""The scheduler: bounded and fair."""

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from hark.engine.interface import Intake, Request
from hark.engine.scheduler import Entered, Places, Scheduler


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans()), max_size=60), st.randoms(use_true_random=False))
def test_places_are_allocated_once_and_freed(events: list[tuple[int, bool]], chance: "object") -> None:
    places = Places(30)
    taken: dict[int, int] = {}
    for count, wants in events:
        if wants or not taken:
            start = places.take(count)
            used = {place for first, n in taken.items() for place in range(first, first + n)}
            if start is None:  # then no gap is large enough
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


class Needs(NamedTuple):
    """A search with the places and rows that it needs."""

    number: int
    places: int
    rows: int = 2


def scheduler(needs: Sequence[int], places: int = 20, rows: int = 8, wide: int = 0) -> Scheduler[Needs]:
    """One search per request, with these numbers of places and two rows, or nine rows if it needs `wide` places."""
    waiting: Intake[list[Needs]] = Intake(
        lambda number, request: [Needs(number, len(request.source), 9 if len(request.source) == wide else 2)]
    )
    for need in needs:
        waiting.submit(Request([4] * need))
    return Scheduler(waiting, places, rows)


def places(entered: Sequence[Entered[Needs]]) -> list[int]:
    return [each.job.places for each in entered]


@given(st.lists(st.integers(1, 20), max_size=40), st.randoms(use_true_random=False))
def test_first_come_first_served_within_bounds(needs: list[int], chance: "object") -> None:
    line = scheduler(needs)
    running: list[Entered[Needs]] = []
    order: list[int] = []
    while len(order) < len(needs) or running:
        entered = line.enter(100)
        order += places(entered)
        running += entered
        assert sum(each.job.places for each in running) <= 20
        assert sum(each.job.rows for each in running) <= 8
        line.leave(running.pop(chance.randrange(len(running))))  # type: ignore[attr-defined]
    assert order == needs
    assert line.running == 0


def test_short_searches_do_not_overtake_a_long_one() -> None:
    line = scheduler([5, 5, 20, 1, 1])
    first, second = line.enter(9)
    line.leave(first)
    assert line.enter(9) == []  # the long search waits for memory; the short ones behind it would fit
    line.leave(second)
    assert places(line.enter(9)) == [20]


def test_urgent_requests_overtake_bulk_that_waits_for_memory() -> None:
    line = scheduler([18, 19, 20])
    (first,) = line.enter(9)
    line.intake.submit(Request([4] * 2, urgent=True))
    assert places(line.enter(9)) == [2]
    line.leave(first)
    assert line.enter(9) == []


def test_a_search_that_does_not_fit_waits() -> None:
    line = scheduler([3, 4])
    assert line.enter(9, lambda job: job.places != 3) == []
    assert places(line.enter(9)) == [3, 4]


def test_further_searches_of_a_request_come_first() -> None:
    line = scheduler([20, 1, 2])
    (first,) = line.enter(9)
    line.leave(first)
    line.put_first([Needs(9, 7), Needs(9, 8)])
    assert places(line.enter(3)) == [7, 8, 1]


def test_a_search_with_more_rows_than_there_are_runs_alone() -> None:
    line = scheduler([1, 2, 3], rows=4, wide=2)
    (first,) = line.enter(9)
    line.leave(first)
    (second,) = line.enter(9)
    assert second.job.places == 2
    assert line.enter(9) == []
    line.leave(second)
    assert places(line.enter(9)) == [3]


def test_a_search_cancelled_while_entering_takes_no_memory() -> None:
    line = scheduler([5, 6])

    def cancels(job: Needs) -> bool:
        if job.places == 5:
            line.intake.cancel(job.number)
        return True

    assert places(line.enter(9, cancels)) == [6]
    assert line.places.free == 20 - 6
