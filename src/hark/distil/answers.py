"""Translation of a corpus in chunks by the teacher's engine."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hark.config import DecodeConfig
from hark.engine.interface import Engine
from hark.engine.request import Hypothesis, Request
from hark.facts import LanguagePair


@dataclass(eq=False)
class Chunk:
    """Consecutive pairs of a corpus, from `first`; `answers` are filled in any order."""

    corpus: str
    first: int
    sources: Sequence[Sequence[int]]
    """In the teacher's tokens, without tag and EOS."""
    languages: LanguagePair
    answers: list[Hypothesis | None] = field(init=False)
    """The teacher's translations; None for a source that is too long."""
    missing: int = 0

    def __post_init__(self) -> None:
        self.answers = [None] * len(self.sources)


@dataclass(frozen=True)
class RequestMaker:
    """Makes requests of sources in the teacher's tokens."""

    search: DecodeConfig
    longest: int
    """Sources of more tokens than this, counting EOS but not the tag, are skipped."""
    as_source: Callable[[Sequence[int], LanguagePair], Sequence[int]]
    """Adds tag and EOS for the encoder."""
    prefix: Callable[[LanguagePair], Sequence[int]] = lambda _: ()
    """The tokens that translations must begin with."""


def translate(engine: Engine, chunks: Iterable[Chunk], make: RequestMaker) -> Iterator[Chunk]:
    """Translate chunks; yield them in order, with as few in flight as the engine has room for."""
    in_flight: deque[Chunk] = deque()
    places: dict[int, tuple[Chunk, int]] = {}

    def requests() -> Iterator[Request]:
        number = 0
        for chunk in chunks:
            requested = [place for place, source in enumerate(chunk.sources) if len(source) < make.longest]
            chunk.missing = len(requested)
            in_flight.append(chunk)
            prefix = make.prefix(chunk.languages)
            for place in requested:
                places[number] = chunk, place
                number += 1
                yield Request(make.as_source(chunk.sources[place], chunk.languages), make.search, prefix)

    for number, hypotheses in engine.run(requests()):
        chunk, place = places.pop(number)
        chunk.answers[place] = hypotheses[0]
        chunk.missing -= 1
        while in_flight and not in_flight[0].missing:
            yield in_flight.popleft()
    yield from in_flight
