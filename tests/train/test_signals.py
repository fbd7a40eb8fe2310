"""Signals while a run trains: remembered, and those that were ignored stay ignored."""

import os
import signal
from collections.abc import Iterator

import pytest

from hark.train.signals import SIGNALS, Signals


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """As before, whatever a test does."""
    before = {each: signal.getsignal(each) for each in SIGNALS}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_is_remembered_and_a_second_does_not_wait(number: signal.Signals) -> None:
    told = []
    signal.signal(number, lambda received, _: told.append(received))
    with Signals() as signals:
        os.kill(os.getpid(), number)
        assert signals.received == number
        assert not told
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert told == [number]  # whoever handled it before says how it ends
    os.kill(os.getpid(), number)
    assert told == [number, number]


def test_nohup_keeps_a_run_going() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Signals() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not signals.received
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
