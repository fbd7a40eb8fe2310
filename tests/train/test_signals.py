"""Signals while a run trains: remembered, and those that were ignored stay ignored."""

import os
import queue
import signal
import subprocess
import sys
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
        signals.worth_saving = True
        os.kill(os.getpid(), number)
        assert signals.received == number
        assert not told
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert told == [number]  # whoever handled it before says how it ends
    os.kill(os.getpid(), number)
    assert told == [number, number]


def test_before_the_first_step_there_is_nothing_to_wait_for() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Signals() as signals:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert not signals.received


def test_a_person_is_told_at_once_that_it_was_heard() -> None:
    told: queue.Queue[str] = queue.Queue()
    with Signals() as signals:
        signals.worth_saving, signals.tell = True, told.put
        os.kill(os.getpid(), signal.SIGTERM)
        assert "saved first" in told.get(timeout=60)


DEAF = """
import os, signal, time
from hark.train import signals
signals.GRACE = 0.01
class Deaf(signals.Signals):
    def remember(self, number, frame):
        pass  # as if torch were in the middle of a long operation
with Deaf() as entered:
    entered.worth_saving = {worth_saving}
    for _ in range({times}):
        os.kill(os.getpid(), signal.{name})
    time.sleep(100)
"""


@pytest.mark.parametrize(("name", "times", "status"), [("SIGINT", 1, 130), ("SIGTERM", 2, 143)])
def test_a_run_that_cannot_hear_it_is_ended_all_the_same(name: str, times: int, status: int) -> None:
    code = DEAF.format(name=name, times=times, worth_saving=times > 1)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=90)
    assert done.returncode == status
    assert f"hark: ended at once by {name}" in done.stderr


def test_nohup_keeps_a_run_going() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Signals() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not signals.received
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
