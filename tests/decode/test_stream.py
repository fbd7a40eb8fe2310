"""Tasks through an engine: in order, bounded, with second questions in the same stream."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hark.decode.request import Request
from hark.decode.stream import Stream, Task
from tests.decode.stub import Stub, tokenizer


def ask(text: str) -> Request:
    return Request([*tokenizer().encode([text])[0], tokenizer().special.end])


def say(tokens: Sequence[int]) -> str:
    return tokenizer().decode([tokens])[0]


def conversation(name: int, rounds: Sequence[int]) -> Task[str]:
    """Asks several things several times, each time about the answers before."""
    heard = f"{name}"
    for questions in rounds:
        answers = yield [ask(f"{heard} {i}") for i in range(questions)]
        heard += "".join(say(answer[0].tokens).replace(" ", "") for answer in answers)[:20]
    return heard


def alone(name: int, rounds: Sequence[int]) -> str:
    ((outcome,),) = Stream(Stub(), iter([[conversation(name, rounds)]])).run()
    return outcome


@given(
    st.lists(st.none() | st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=3), max_size=12),
    st.integers(1, 6),
    st.integers(1, 8),
)
def test_every_task_gets_its_own_answers_and_outcomes_are_in_order(groups: Any, crowd: int, window: int) -> None:
    def tasks() -> Iterator[list[Task[str]] | None]:
        for number, group in enumerate(groups):
            yield None if group is None else [conversation(number, rounds) for rounds in group]

    expected = [[alone(number, rounds) for rounds in group] for number, group in enumerate(groups) if group is not None]
    assert list(Stream(Stub(crowd=crowd), tasks(), window).run()) == expected


def test_no_more_is_begun_than_the_window_allows() -> None:
    begun = given_out = most = 0

    def tasks() -> Iterator[list[Task[str]]]:
        nonlocal begun, most
        for number in range(200):
            begun += 1
            most = max(most, begun - given_out)
            yield [conversation(number, [] if number % 3 else [1])]

    for _ in Stream(Stub(), tasks(), window=10).run():
        given_out += 1
    assert given_out == 200
    assert most <= 7  # each group counts for itself and for its tasks


def test_what_is_ready_comes_before_more_is_asked_for() -> None:
    """As with somebody who types: a line, a blank line, a pause; then the next."""
    events: list[str] = []

    def typed() -> Iterator[list[Task[str]] | None]:
        for number, group in enumerate([[conversation(1, [1])], [], None, [conversation(2, [1])]]):
            events.append(f"typed {number}")
            yield group

    for outcomes in Stream(Stub(), typed()).run():
        events.append(f"given {len(outcomes)}")
    assert events.index("given 1") < events.index("given 0") < events.index("typed 3")


def test_an_error_comes_after_all_that_was_before_it() -> None:
    def tasks() -> Iterator[list[Task[str]]]:
        yield [conversation(1, [2, 1])]
        yield [conversation(2, [1])]
        raise ValueError("line 3")

    stream = Stream(Stub(), tasks()).run()
    assert len([next(stream), next(stream)]) == 2
    with pytest.raises(ValueError, match="line 3"):
        next(stream)
