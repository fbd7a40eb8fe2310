"""How an engine's answers become text: what was protected is put back, capitals are restored, faults are looked for."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from hark.decode import marks
from hark.decode.align import Link, link, word_spans
from hark.decode.attempts import Ask, Attempt
from hark.decode.coder import Coder
from hark.decode.faults import FAULTS, Fault, find_faults
from hark.decode.reasons import Reason
from hark.decode.request import Hypothesis, Request
from hark.decode.translation import Alternative, mean, shift
from hark.text import case, protect
from hark.text.normalise import normalise
from hark.text.numbers import NumberChange, compare_numbers
from hark.text.protect import Item
from hark.text.rewrite import Rewriting, Span

STOPS = (".", "。", "।")
NOTHING = Hypothesis((), 0.0, 0.0, complete=False)
"""In place of an answer without any hypothesis."""


@dataclass(frozen=True)
class Reading:
    """A hypothesis as text."""

    text: str
    hypothesis: Hypothesis
    faults: frozenset[Fault]
    lost: tuple[Item, ...]
    repaired: bool
    links: tuple[Link, ...]

    @property
    def tokens(self) -> int:
        return len(self.hypothesis.tokens) + 1


@dataclass(frozen=True)
class Candidate:
    """What an attempt came to."""

    attempt: Attempt
    readings: tuple[Reading, ...]
    """One for each stretch that was asked about."""
    numbers: tuple[NumberChange, ...] = ()
    """Numbers that are not those of the source."""
    alternatives: tuple[Alternative, ...] = ()

    @property
    def text(self) -> str:
        return join(self.attempt, [reading.text for reading in self.readings])

    @property
    def score(self) -> float:
        return mean((reading.hypothesis.score, reading.tokens) for reading in self.readings) or 0.0

    @property
    def tokens(self) -> int:
        return sum(reading.tokens for reading in self.readings)

    @property
    def doubt(self) -> float:
        """The mean negative log-probability of a token: how unsure the model is."""
        return -sum(reading.hypothesis.log_prob for reading in self.readings) / max(1, self.tokens)

    @property
    def faults(self) -> frozenset[Fault]:
        faults = {fault for reading in self.readings for fault in reading.faults}
        return frozenset(faults | {"number"} if self.numbers else faults)

    @property
    def reasons(self) -> list[Reason]:
        """The faults, and what they are about."""
        details: dict[Fault, str] = {
            "changed": ", ".join(dict.fromkeys(item.text for item in self.lost)),
            "number": ", ".join(f"{each.source or 'none'} -> {each.translation or 'none'}" for each in self.numbers),
        }
        return [Reason(fault, details.get(fault, "")) for fault in self.faults]

    @property
    def lost(self) -> tuple[Item, ...]:
        return tuple(item for reading in self.readings for item in reading.lost)

    @property
    def rank(self) -> tuple[int, int, int, float]:
        """To be least: what must come out and did not, then the faults, then the score."""
        exact = sum(item.exact for item in self.lost)
        return exact, badness(self.faults), len(self.lost), -self.score

    @property
    def links(self) -> tuple[Link, ...]:
        readings, found, end = iter(self.readings), [], 0
        for part in self.attempt.parts:
            if isinstance(part, str):
                end += len(part)
                continue
            reading = next(readings)
            found += [Link(each.source, shift(each.target, end), each.weight) for each in reading.links]
            end += len(reading.text)
        return tuple(found)


def badness(faults: Collection[Fault]) -> int:
    """One fault outweighs all lesser ones."""
    return sum(1 << (len(FAULTS) - FAULTS.index(fault)) for fault in faults)


def join(attempt: Attempt, translations: Sequence[str]) -> str:
    texts = iter(translations)
    return "".join(part if isinstance(part, str) else next(texts) for part in attempt.parts)


def read(ask: Ask, source: Sequence[int], hypothesis: Hypothesis, coder: Coder) -> Reading:
    """Tokens to text: what was protected is put back, capitals are restored, and faults are looked for."""
    decoded = coder.decode(hypothesis.tokens)
    restored = protect.restore(decoded, ask.items)
    faults = find_faults(source, hypothesis.tokens, ask.seen, decoded, hypothesis.complete)
    before = ask.rewriting.before
    untouched = decoded == normalise(before if ask.shouted else ask.seen)
    lost = () if untouched else restored.lost
    if lost:
        faults |= {"changed"}
    if not decoded:
        made = Rewriting(before, before)  # untranslated is better than lost
    elif untouched:
        # What a model leaves as it is keeps even its double spaces; numbers are still written as the language does.
        made = Rewriting.of(before, ((item.span, item.written or item.text) for item in in_place(ask.items)))
    elif ask.shouted:
        made = case.shout(restored.text, restored.spans)
    else:
        made = Rewriting(restored.text, restored.text)
    text = made.after
    if ask.inner and text.endswith(STOPS) and not ask.seen.endswith(STOPS):
        text = text[:-1]
    links: tuple[Link, ...] = ()
    if hypothesis.attention_TS is not None:
        sources = [shift(ask.rewriting.back(span), ask.start) for span in word_spans(ask.seen)]
        words = word_spans(made.before)
        if made.before is restored.text:
            words = [restored.rewriting.forth(span) for span in word_spans(decoded)]
        targets = [clip(made.forth(span), len(text)) for span in words]
        # Language tags belong to no word, on either side.
        first = sum(1 for _ in takewhile(coder.target.is_special, hypothesis.tokens))
        attention_TS = hypothesis.attention_TS[first:, coder.source.lead :]
        pieces = coder.source.pieces(source[coder.source.lead :]), coder.target.pieces(hypothesis.tokens[first:])
        links = link(attention_TS, *pieces, sources, targets)
    if ask.marks and not untouched:
        text, links, missing = with_marks(text, links, ask)
        lost = (*lost, *missing)
        faults |= {"changed"} if missing else set()
    return Reading(text, hypothesis, faults, lost, restored.repaired, links)


def with_marks(text: str, links: Sequence[Link], ask: Ask) -> tuple[str, tuple[Link, ...], tuple[Item, ...]]:
    """The translation with the marks of its source, the links to it, and marks that found no place."""
    apart = [replace(each, source=shift(each.source, -ask.start)) for each in links]
    placed = marks.place(text, ask.rewriting.before, ask.marks, apart)
    if placed is None:
        return text, tuple(links), ask.marks
    return placed.after, tuple(replace(each, target=placed.forth(each.target)) for each in links), ()


def in_place(items: Sequence[Item]) -> list[Item]:
    return sorted((item for item in items if item.written), key=lambda item: item.start)


def clip(span: Span, length: int) -> Span:
    return min(span[0], length), min(span[1], length)


def judge(
    attempt: Attempt,
    requests: Sequence[Request],
    answers: Sequence[tuple[Hypothesis, ...]],
    coder: Coder,
    nbest: int,
    languages: tuple[str, str] | None = None,
) -> Candidate:
    """The best reading of each stretch, and alternatives: the next of each that have no faults.

    With `languages`, numbers are compared with those of the source.
    """
    ranked = []
    for ask, request, hypotheses in zip(attempt.asks, requests, answers, strict=True):
        source = request.source[:-1]
        readings = [read(ask, source, hypothesis, coder) for hypothesis in hypotheses or (NOTHING,)]
        readings.sort(key=lambda each: (badness(each.faults), len(each.lost)))  # the search's own order among equals
        ranked.append([readings[0], *(reading for reading in readings[1:] if not reading.faults)])
    best = Candidate(attempt, tuple(readings[0] for readings in ranked))
    if languages is not None:
        source_text = "".join(part if isinstance(part, str) else part.rewriting.before for part in attempt.parts)
        best = replace(best, numbers=compare_numbers(source_text, best.text, *languages))
    others: dict[str, Alternative] = {}
    for rank in range(1, max(map(len, ranked), default=0)):
        other = Candidate(attempt, tuple(readings[min(rank, len(readings) - 1)] for readings in ranked))
        if other.text != best.text:
            others.setdefault(other.text, Alternative(other.text, other.score))
    return replace(best, alternatives=tuple(islice(others.values(), nbest - 1)))
