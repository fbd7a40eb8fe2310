"""Signals during training: the first is stored, a second quits, ignored ones stay ignored."""

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
    """Restore the signal handlers after each test."""
    before = {each: signal.getsignal(each) for each in SIGNALS}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_stored_and_the_second_interrupts(number: signal.Signals) -> None:
    handled = []
    signal.signal(number, lambda received, _: handled.append(received))
    with Signals() as signals:
        signals.worth_saving = True
        os.kill(os.getpid(), number)
        assert signals.received == number
        assert not handled
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert handled == [number]  # by the previous handler
    os.kill(os.getpid(), number)
    assert handled == [number, number]


def test_a_signal_before_the_first_step_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Signals() as signals:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert not signals.received


def test_the_user_is_notified_of_a_signal_at_once() -> None:
    messages: queue.Queue[str] = queue.Queue()
    with Signals() as signals:
        signals.worth_saving, signals.notify = True, messages.put
        os.kill(os.getpid(), signal.SIGTERM)
        assert "finishing and saving this step" in messages.get(timeout=600)


UNRESPONSIVE = """
import os, signal, time
from hark.train import signals
signals.GRACE_SECONDS = 0.01
class Unresponsive(signals.Signals):
    def handle(self, number, frame):
        pass  # as if torch were in the middle of a long operation
with Unresponsive() as entered:
    entered.worth_saving = {worth_saving}
    for _ in range({times}):
        os.kill(os.getpid(), signal.{name})
    time.sleep(100)
"""


@pytest.mark.parametrize(("name", "times", "status"), [("SIGINT", 1, 130), ("SIGTERM", 2, 143)])
def test_a_run_that_does_not_respond_is_killed(name: str, times: int, status: int) -> None:
    code = UNRESPONSIVE.format(name=name, times=times, worth_saving=times > 1)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == status
    assert f"hark: killed by {name}" in done.stderr


def test_ignored_signals_stay_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Signals() as signals:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not signals.received
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
