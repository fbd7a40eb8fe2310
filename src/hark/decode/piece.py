"""How one piece of text, a sentence or a part of one, is translated: plainly, and if that went wrong, more safely."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from hark.config import DecodeConfig
from hark.decode import attempts
from hark.decode.align import Link
from hark.decode.attempts import Attempt
from hark.decode.coder import Coder
from hark.decode.readings import Candidate, judge
from hark.decode.request import Hypotheses, Request
from hark.decode.tasks import Task
from hark.decode.translation import Alternative, Flag
from hark.text import case, protect
from hark.text.protect import Item


@dataclass(frozen=True)
class Options:
    """How to translate."""

    search: DecodeConfig = field(default_factory=DecodeConfig)
    split: bool = True
    """Whether to split lines into sentences; otherwise each line is one, as in line-aligned corpora."""
    align: bool = False
    """Whether to tell which words stand for which."""
    protect: bool = True
    """Whether addresses, placeholders, tags, numbers with units and unknown characters must come out unchanged."""
    source: str | None = None
    """The language of the text; None: the model's own."""
    target: str | None = None
    """The language to translate to, of a model that knows several; None: the model's own."""
    urgent: bool = False
    """Whether a person waits for it."""


@dataclass(frozen=True)
class Piece:
    """A piece and its translation."""

    source: str
    text: str
    score: float | None = None
    tokens: int = 0
    flags: frozenset[Flag] = frozenset()
    links: tuple[Link, ...] = ()
    alternatives: tuple[Alternative, ...] = ()


def translate_piece(text: str, coder: Coder, options: Options, inner: bool = False) -> Task[Piece]:
    """Ask for a translation; if it is faulty, ask again in safer ways, and take the best of all.

    `inner` says that the sentence goes on after the piece. Nothing is lost whatever the engine answers: what it
    does not translate at all stands in the result as it was.
    """
    items = protect.find(text, coder.unknown) if options.protect else ()
    if not protect.has_words(text, items):
        return Piece(text, text, flags=frozenset({"copied"}))
    plain = attempts.as_it_is(text, items, options.search, inner)
    first = [plain]
    if case.is_shouted(text, [item.span for item in items]):
        first.append(attempts.in_sentence_case(plain))
    tried = yield from _try(first, coder, options)
    best = min(tried, key=lambda each: each.rank)
    flags: set[Flag] = set()
    if best.faults:
        best, flags = yield from _rescue(text, items, best, coder, options, inner)
        flags.add("retried")
    if any(ask.shouted for ask in best.attempt.asks):
        flags.add("recased")
    if any(reading.repaired for reading in best.readings):
        flags.add("repaired")
    if "empty" in best.faults:
        flags.add("untranslated")
    flags |= best.faults
    return Piece(text, best.text, best.score, best.tokens, frozenset(flags), best.links, best.alternatives)


def _try(
    ways: Sequence[Attempt], coder: Coder, options: Options
) -> Generator[Sequence[Request], Sequence[Hypotheses], list[Candidate]]:
    """Make attempts side by side."""
    asked = [attempt.requests(coder, options.align, options.target, options.source) for attempt in ways]
    answers = iter((yield [request for requests in asked for request in requests]))
    return [
        judge(attempt, requests, [next(answers) for _ in requests], coder, options.search.nbest)
        for attempt, requests in zip(ways, asked, strict=True)
    ]


def _rescue(
    text: str, items: Sequence[Item], best: Candidate, coder: Coder, options: Options, inner: bool
) -> Generator[Sequence[Request], Sequence[Hypotheses], tuple[Candidate, set[Flag]]]:
    """Safer ways, one after the other, until one has no fault; the best of all, and the flags that it earns."""
    safe = attempts.safer(options.search)
    first, flags = best.attempt, set[Flag]()
    for way in ("wider", "stand-ins", "parts"):
        lost = [item for item in best.lost if item.exact]
        attempt: Attempt | None = None
        match way:
            case "wider":
                attempt = Attempt(first.parts, safe)
            case "stand-ins" if any(item.kind != "symbol" for item in lost):
                attempt = attempts.with_stand_ins(first, safe)
            case "parts" if lost:
                attempt = attempts.around_items(text, items, safe, inner)
            case "parts" if best.faults - {"changed"}:
                attempt = attempts.in_halves(text, items, safe, inner)
        if attempt is None or not attempt.asks:
            continue
        [candidate] = yield from _try([attempt], coder, options)
        if candidate.rank < best.rank:
            best = candidate
            flags = {"repaired"} if way != "wider" and lost else {"split"} if way == "parts" else set()
        if not best.faults:
            break
    return best, flags
