"""The engine, one of the house's doors: submit, step, cancel. What is behind it differs from device to device."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from hark.config import ModelConfig
from hark.decode.intake import Intake
from hark.decode.request import Answer, Hypotheses, Request
from hark.errors import HarkError, UserError
from hark.text.vocabulary import SpecialIds

Pair = tuple[Sequence[int], Sequence[int]]
"""Source tokens, EOS included, and target tokens without it."""


class Engine(ABC):
    """Decodes requests. The CLI, the server, documents and distillation are its clients, and nothing else decodes.

    Any thread may submit and cancel; one thread at a time steps. Where a request cannot be done, its error is its
    answer, and no other request is harmed.
    """

    name: str
    """For people: the engine and its precision."""
    widest: int | None = None
    """The widest beam, where there is a limit."""

    def __init__(self, config: ModelConfig, special: SpecialIds, positions: int | None) -> None:
        """`positions` is how many the model knows; None: any number."""
        self.config, self.special, self.positions = config, special, positions
        self.source_size, self.target_size = config.source_vocab_size or config.vocab_size, config.vocab_size
        self.intake: Intake[Any] = Intake(self.prepare)

    @abstractmethod
    def prepare(self, number: int, request: Request) -> Any:
        """What waits in a request's place, in the thread that submits it; a UserError where it cannot be done."""

    @property
    @abstractmethod
    def room(self) -> int:
        """Requests that it can use just now, besides those that wait already. More are accepted, and wait longer."""

    @abstractmethod
    def step(self) -> list[tuple[int, Answer]]:
        """Go on with what was submitted, some milliseconds at most where there is nothing to compute; the answers that
        are ready, each with the best hypothesis first."""

    @abstractmethod
    def score(self, pairs: Iterable[Pair]) -> Iterator[tuple[float, ...]]:
        """The log-probability of each token of given translations, EOS included, in order."""

    @abstractmethod
    def close(self) -> None:
        """Give back the memory."""

    def submit(self, request: Request) -> int:
        """Queue a request; the number that its answer will bear."""
        return self.intake.submit(request)

    def cancel(self, number: int) -> None:
        """Forget a request: it is not answered, and what it takes up is free at the next step."""
        self.intake.cancel(number)

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[int, Hypotheses]]:
        """Submit and step, for a client that has the engine to itself: answers as they are ready, each with the place
        of its request in the iterable. An error is raised; whoever leaves early cancels the rest."""
        places: dict[int, int] = {}
        rest = enumerate(requests)
        ended = False
        try:
            while not ended or places:
                room = 0 if ended else max(0, self.room)
                before = len(places)
                places.update((self.submit(request), place) for place, request in islice(rest, room))
                ended = len(places) - before < room or ended
                for number, answer in self.step():
                    place = places.pop(number)
                    if isinstance(answer, HarkError):
                        raise answer
                    yield place, answer
        finally:
            for number in places:
                self.cancel(number)

    def check(self, request: Request) -> int:
        """Refuse what cannot be decoded; how many tokens the output may have, its prefix and EOS included."""
        prefix, banned, search, size = request.prefix, request.banned, request.search, self.target_size
        self.check_pair(request.source, prefix)
        width = search.nbest if search.diverse else search.beam
        if self.widest is not None and width > self.widest:
            raise UserError(f"a beam of {width} is wider than the {self.widest} that this engine can do; lower it")
        if self.special.end in prefix:
            raise UserError("a prefix contains EOS; leave it out")
        if banned and not 0 <= min(banned) <= max(banned) < size:
            raise UserError("a banned token is beyond the model's vocabulary; is this another model's tokenizer?")
        if banned and len({*self.special.forbidden, self.special.end, *banned}) >= size:
            raise UserError("every token is banned; allow some")
        limit = request.limit
        if self.positions is not None and limit > self.positions:
            limit = self.positions
        return limit if limit > len(prefix) else len(prefix) + 1

    def check_pair(self, source: Sequence[int], target: Sequence[int]) -> None:
        longest = max(len(source), len(target) + 1)
        if not source:
            raise UserError("a source has no tokens; it must have EOS at least")
        if self.positions is not None and longest > self.positions:
            raise UserError(f"a sentence has {longest} tokens, and the model {self.positions} positions; split it")
        if (
            min(source) < 0
            or max(source) >= self.source_size
            or (target and (min(target) < 0 or max(target) >= self.target_size))
        ):
            raise UserError("a token is beyond the model's vocabulary; is this another model's tokenizer?")
