"""Lets many threads wait for one engine: one of them steps it, the others sleep until there is news."""

from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, get_ident

NAP = 1.0
"""Maximum seconds of sleep: Ctrl-C may stop a thread just before it wakes the others."""


class Turns:
    """Calls `step` in the threads that wait for what it does, in one at a time.

    Ctrl-C may raise at almost any point of the main thread. So a turn is taken and given back by single operations of
    the interpreter, and nobody waits for a lock that is held during a step.
    """

    def __init__(self, step: Callable[[], bool]) -> None:
        """`step` returns whether there is news for other threads."""
        self._step = step
        self._lock = Lock()
        self._stepping: set[int] = set()
        """The thread that is stepping, if any."""
        self._bells: set[SimpleQueue[None]] = set()
        """One for each thread that waits, to wake it."""

    def until(self, enough: Callable[[], bool]) -> None:
        """Step, or sleep while another thread steps, until it is enough."""
        bell: SimpleQueue[None] = SimpleQueue()
        stepped = False
        try:
            self._bells.add(bell)
            while not enough():
                stepped = True
                if not self._take_turn():
                    stepped = False
                    with suppress(Empty):
                        bell.get(timeout=NAP)
        finally:
            self._bells.discard(bell)
            if stepped:  # somebody else must step now
                self._ring()

    def once(self) -> None:
        """Step once; while another thread steps, sleep until there is news."""
        calls = iter((False, True))
        self.until(lambda: next(calls))

    def _take_turn(self) -> bool:
        """Step unless another thread does; return whether it did."""
        me = get_ident()
        if me in self._stepping:  # called by something that the step has called
            self._step()
            return True
        news = False
        try:
            with self._lock:
                if not self._stepping:
                    self._stepping.add(me)
            if me not in self._stepping:
                return False
            news = self._step()
        finally:
            self._stepping.discard(me)
        if news:
            self._ring()
        return True

    def _ring(self) -> None:
        for bell in list(self._bells):
            if bell.empty():
                bell.put(None)
