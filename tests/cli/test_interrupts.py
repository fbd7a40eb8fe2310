"""Every signal interrupts the command."""

import os
import signal
import sys
import threading
import time
import weakref
from types import SimpleNamespace

import pytest

from hark.cli import Interrupted, Interrupts


class Thing:
    pass


def test_a_signal_in_a_callback_is_not_lost() -> None:
    """Python ignores what is raised there; while a module is imported, a signal often arrives in such a callback."""
    thing = Thing()
    reference = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
    begun = False
    with pytest.raises(Interrupted) as raised, Interrupts() as interrupts:  # noqa: PT012
        del thing
        begun = True
        time.sleep(60)  # until the signal is sent again
    assert begun
    assert reference() is None
    assert raised.value.number == interrupts.received == signal.SIGTERM


def test_a_signal_while_one_is_sent_again_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that sends it may be faster than the callback that starts it."""
    start = threading.Thread.start

    def start_slowly(thread: threading.Thread) -> None:
        start(thread)
        os.kill(os.getpid(), signal.SIGTERM)
        sum(range(1000))  # Python calls the handler here

    monkeypatch.setattr(threading.Thread, "start", start_slowly)
    thing = Thing()
    reference = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Interrupted), Interrupts():  # noqa: PT012
        del thing
        time.sleep(60)  # until the signal is sent again
    assert reference() is None


def test_other_ignored_exceptions_are_reported_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", reported.append)
    other = SimpleNamespace(exc_value=ValueError())
    with Interrupts():
        sys.unraisablehook(other)
    assert reported == [other]
    assert sys.unraisablehook == reported.append
