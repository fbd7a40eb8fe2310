"""The request queue: in order, urgent before bulk, without starvation, thread-safe."""

from threading import Thread

from hypothesis import given
from hypothesis import strategies as st

from hark.engine.interface import BULK_EVERY, Intake, Request
from hark.errors import UserError


def prepare(number: int, request: Request) -> tuple[int, bool]:
    if not request.source:
        raise UserError("nothing")
    return number, request.urgent


def take(intake: Intake[tuple[int, bool]]) -> tuple[int, bool]:
    item = intake.first()
    assert item is not None
    assert intake.take(item[0])
    return item


def ask(urgent: bool = False) -> Request:
    return Request([4], urgent=urgent)


@given(st.lists(st.booleans(), max_size=60))
def test_all_requests_are_taken_once_and_each_kind_in_order(kinds: list[bool]) -> None:
    intake = Intake(prepare)
    for urgent in kinds:
        intake.submit(ask(urgent))
    taken = []
    while len(intake):
        assert intake.first() in intake.peek(len(kinds))
        taken.append(take(intake))
    assert intake.first() is None
    for kind in (True, False):
        assert [number for number, urgent in taken if urgent == kind] == [
            number for number, urgent in enumerate(kinds) if urgent == kind
        ]
    # While both wait, urgent ones go first, and no more than BULK_EVERY - 1 in a row.
    urgent_left, bulk_left, row = sum(kinds), len(kinds) - sum(kinds), 0
    for _, urgent in taken:
        row = row + 1 if urgent else 0
        if bulk_left:
            assert row < BULK_EVERY
        urgent_left, bulk_left = urgent_left - urgent, bulk_left - (not urgent)


def test_urgent_requests_enter_first() -> None:
    intake = Intake(prepare)
    for urgent in (False, False, True):
        intake.submit(ask(urgent))
    assert [take(intake)[0] for _ in range(3)] == [2, 0, 1]


def test_rejected_requests_are_reported_once_and_not_queued() -> None:
    intake = Intake(prepare)
    bad, good = intake.submit(Request([])), intake.submit(ask())
    assert len(intake) == 1
    ((number, error),), cancelled = intake.changes()
    assert (number, str(error), cancelled) == (bad, "nothing", set())
    assert intake.changes() == ([], set())
    assert take(intake)[0] == good


def test_cancelled_requests_leave_the_queue() -> None:
    intake = Intake(prepare)
    first, second, bad = intake.submit(ask()), intake.submit(ask()), intake.submit(Request([]))
    assert take(intake)[0] == first
    for number in (first, second, bad):
        intake.cancel(number)
    assert len(intake) == 0
    assert intake.changes() == ([], {first, bad})


def test_several_threads_submit_while_another_takes() -> None:
    intake, each = Intake(prepare), 2000
    threads = [Thread(target=lambda: [intake.submit(ask()) for _ in range(each)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    taken = []
    while len(taken) < 3 * each:
        if len(intake):
            taken.append(take(intake)[0])
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(3 * each))
