"""The teacher's translations of a stretch of a corpus, in tokens, as its engine gives them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hark.config import DecodeConfig
from hark.decode.engine import Engine
from hark.decode.request import Hypothesis, Request


@dataclass(eq=False)
class Chunk:
    """Consecutive pairs of a corpus, from `first`; `answers` fills up in any order."""

    corpus: str
    first: int
    sources: Sequence[Sequence[int]]
    """In the teacher's tokens, without tag and EOS."""
    answers: list[Hypothesis | None] = field(init=False)
    """The teacher's translations; none of a source that it was not asked about."""
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
    """The chunks in order, each with its answers; those under way are as few as the engine has room for.

    Sources of more than `longest` tokens, counting EOS but not the tag, are not asked about. `as_source` puts tag and
    EOS around one, for the encoder; translations are forced to begin with `prefix`.
    """
    under_way: deque[Chunk] = deque()
    places: dict[int, tuple[Chunk, int]] = {}

    def requests() -> Iterator[Request]:
        number = 0
        for chunk in chunks:
            asked = [place for place, source in enumerate(chunk.sources) if len(source) < longest]
            chunk.missing = len(asked)
            under_way.append(chunk)
            for place in asked:
                places[number] = chunk, place
                number += 1
                yield Request(as_source(chunk.sources[place]), search, prefix)

    for number, hypotheses in engine.run(requests()):
        chunk, place = places.pop(number)
        chunk.answers[place] = hypotheses[0]
        chunk.missing -= 1
        while under_way and not under_way[0].missing:
            yield under_way.popleft()
    yield from under_way
