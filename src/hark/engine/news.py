"""Tokens of running searches, reported while they run."""

from collections import deque
from collections.abc import Iterable

from hark.engine.jobs import DecodeJob
from hark.engine.lane import Lane, NewTokens

News = list[tuple[int, tuple[int, ...]]]
"""The numbers of requests, each with tokens that follow those reported before."""


class TokenNews:
    """Collects the new tokens of requests that asked for them. They are copied to the host beside the finished flags,
    so nothing waits for the device, and nothing is copied if no request asked.

    A search that starts again reports no token twice. The last tokens come with the answer.
    """

    def __init__(self) -> None:
        self.known: dict[int, int] = {}
        """How many tokens of each output the client knows."""
        self.ready: News = []
        self.pending: deque[list[NewTokens]] = deque()

    def follow(self, job: DecodeJob) -> None:
        if job.reported:
            self.known.setdefault(job.number, len(job.request.prefix))

    def forget(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.known.pop(number, None)

    def fetch(self, lanes: Iterable[tuple[Lane, int]]) -> None:
        """Start copying what lanes chose in their last steps."""
        self.pending.append([lane.fetch_tokens(times) for lane, times in lanes if lane.reported])

    def read(self) -> None:
        """Read what `fetch` started to copy first."""
        for numbers, columns_NT, later in self.pending.popleft():
            lengths_N, tokens_NT = (each.tolist() for each in later.get())
            for number, columns, length, tokens in zip(numbers, columns_NT, lengths_N, tokens_NT, strict=True):
                known = self.known.get(number)
                if known is None:  # answered or cancelled
                    continue
                new = tuple(token for column, token in zip(columns, tokens, strict=True) if known < column <= length)
                if new:
                    self.known[number] += len(new)
                    self.ready.append((number, new))

    def take(self) -> News:
        ready, self.ready = self.ready, []
        return ready
