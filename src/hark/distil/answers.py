"""Translation of a corpus in chunks by the teacher's engine."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hark.config import DecodeConfig
from hark.decode.engine import Engine
from hark.decode.request import Hypothesis, Request


@dataclass(eq=False)
class Chunk:
    """Consecutive pairs of a corpus, from `first`; `answers` are filled in any order."""

    corpus: str
    first: int
    sources: Sequence[Sequence[int]]
    """In the teacher's tokens, without tag and EOS."""
    answers: list[Hypothesis | None] = field(init=False)
    """The teacher's translations; None for a source that is too long."""
    missing: int = 0

    def __post_init__(self) -> None:
        self.answers = [None] * len(self.sources)


def translate(
    engine: Engine,
    chunks: Iterable[Chunk],
    search: DecodeConfig,
    longest: int,
    as_source: Callable[[Sequence[int]], Sequence[int]],
    prefix: Sequence[int] = (),
) -> Iterator[Chunk]:
    """Translate chunks; yield them in order, with as few in flight as the engine has room for.

    Sources of more than `longest` tokens, counting EOS but not the tag, are skipped. `as_source` adds tag and EOS for
    the encoder; translations are forced to begin with `prefix`.
    """
    in_flight: deque[Chunk] = deque()
    places: dict[int, tuple[Chunk, int]] = {}

    def requests() -> Iterator[Request]:
        number = 0
        for chunk in chunks:
            requested = [place for place, source in enumerate(chunk.sources) if len(source) < longest]
            chunk.missing = len(requested)
            in_flight.append(chunk)
            for place in requested:
                places[number] = chunk, place
                number += 1
                yield Request(as_source(chunk.sources[place]), search, prefix)

    for number, hypotheses in engine.run(requests()):
        chunk, place = places.pop(number)
        chunk.answers[place] = hypotheses[0]
        chunk.missing -= 1
        while in_flight and not in_flight[0].missing:
            yield in_flight.popleft()
    yield from in_flight
