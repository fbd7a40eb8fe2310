"""Turns an engine's hypotheses into text: restores protected items and capitals, and checks for faults."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise, takewhile

from hark.engine.interface import Hypothesis, Request
from hark.text import protect
from hark.text.limits import LimitChange, compare_limits
from hark.text.numbers import NumberChange, compare_numbers
from hark.text.protect import Item
from hark.text.rewrite import Rewriting, Span
from hark.text.segments import letters
from hark.text.vocabulary import Coder, normalise
from hark.translate import marks
from hark.translate.align import Link, link, word_spans
from hark.translate.attempts import Attempt, Query, shout
from hark.translate.marks import place_terms
from hark.translate.translation import FAULTS, Alternative, Fault, Reason, mean, shift

STOPS = (".", "。", "।")
NOTHING = Hypothesis((), 0.0, 0.0, complete=False)
"""Used if an answer has no hypotheses."""
LOOP = 8
"""Minimum number of tokens that a repeated sequence covers in total to count as a loop."""
PERIOD = 24
"""Maximum length in tokens of the repeated sequence."""
RATIO, SLACK = 3.0, 12
"""Either side may have up to RATIO times the tokens of the other, plus SLACK."""
CHARACTER_SLACK = 40
SHORT, LONG, FEW = 0.5, 2.2, 12
"""A translation with fewer than `SHORT` times the letters of its source may have lost words; one with more than
`LONG` times may have invented some. Differences of `FEW` letters are ignored. docs/trust.md gives the rate at which
human translations exceed these limits."""


@dataclass(frozen=True)
class Reading:
    """The text of a hypothesis, with its faults and word links."""

    text: str
    hypothesis: Hypothesis
    faults: frozenset[Fault]
    lost: tuple[Item, ...]
    repaired: bool
    links: tuple[Link, ...]

    @property
    def n_tokens(self) -> int:
        """Length in tokens, EOS included."""
        return len(self.hypothesis.tokens) + 1


@dataclass(frozen=True)
class Candidate:
    """The result of an attempt."""

    attempt: Attempt
    readings: tuple[Reading, ...]
    """One for each query."""
    numbers: tuple[NumberChange, ...] = ()
    """Numbers that differ from those of the source."""
    limits: tuple[LimitChange, ...] = ()
    """Words of limit, order and negation that differ from those of the source."""
    alternatives: tuple[Alternative, ...] = ()

    @property
    def text(self) -> str:
        return join(self.attempt, [reading.text for reading in self.readings])

    @property
    def score(self) -> float:
        return mean((reading.hypothesis.score, reading.n_tokens) for reading in self.readings) or 0.0

    @property
    def tokens(self) -> int:
        return sum(reading.n_tokens for reading in self.readings)

    @property
    def doubt(self) -> float:
        """The mean negative log-probability per token: how unsure the model is."""
        return -sum(reading.hypothesis.log_prob for reading in self.readings) / max(1, self.tokens)

    @property
    def faults(self) -> frozenset[Fault]:
        faults = {fault for reading in self.readings for fault in reading.faults}
        if self.numbers:
            faults.add("number")
        if any(each.sure for each in self.limits):
            faults.add("limit")
        return frozenset(faults)

    @property
    def reasons(self) -> list[Reason]:
        """The faults, with the text that they concern, and negations that differ, which are no reason to try again."""
        details: dict[Fault, str] = {
            "changed": ", ".join(dict.fromkeys(item.text for item in self.lost)),
            "number": ", ".join(map(describe, self.numbers)),
            "limit": ", ".join(map(describe, self.limits)),
        }
        found = {*self.faults, *(["limit"] if self.limits else [])}
        return [Reason(fault, details.get(fault, "")) for fault in FAULTS if fault in found]

    @property
    def lost(self) -> tuple[Item, ...]:
        return tuple(item for reading in self.readings for item in reading.lost)

    @property
    def rank(self) -> tuple[int, int, int, float]:
        """Sort key, lowest is best: missing items that must come out exactly, faults, other missing items, the
        score."""
        exact = sum(item.exact for item in self.lost)
        return exact, badness(self.faults), len(self.lost), -self.score

    @property
    def links(self) -> tuple[Link, ...]:
        readings, links, end = iter(self.readings), [], 0
        for part in self.attempt.parts:
            if isinstance(part, str):
                end += len(part)
                continue
            reading = next(readings)
            links += [Link(each.source, shift(each.target, end), each.weight) for each in reading.links]
            end += len(reading.text)
        return tuple(links)


def describe(change: NumberChange | LimitChange) -> str:
    return f"{change.source or 'none'} -> {change.translation or 'none'}"


def badness(faults: Collection[Fault]) -> int:
    """A severity score in which each fault outweighs all lesser ones together."""
    return sum(1 << (len(FAULTS) - FAULTS.index(fault)) for fault in faults)


def join(attempt: Attempt, translations: Sequence[str]) -> str:
    texts = iter(translations)
    return "".join(part if isinstance(part, str) else next(texts) for part in attempt.parts)


def read(query: Query, source: Sequence[int], hypothesis: Hypothesis, coder: Coder) -> Reading:
    """Decode a hypothesis to text, restore protected items and capitals, and check for faults."""
    decoded = coder.decode(hypothesis.tokens)
    tag, tokens = coder.split_lead(source)
    restored = protect.restore(decoded, query.items)
    faults = find_faults([*tag, *tokens], hypothesis.tokens, query.model_input, decoded, hypothesis.complete)
    before = query.rewriting.before
    untouched = decoded == normalise(before if query.shouted else query.model_input)
    lost = () if untouched else restored.lost
    if not decoded:
        rewritten = Rewriting(before, before)  # keep the source rather than lose it
    elif untouched:
        # Text that the model copies keeps even its double spaces; numbers are still localised.
        given = localised((*query.items, *query.terms))
        rewritten = Rewriting.of(before, ((item.span, item.written) for item in given))
    elif query.shouted:
        rewritten = shout(restored.text, restored.spans)
    else:
        rewritten = Rewriting(restored.text, restored.text)
    text = rewritten.after
    if query.inner and text.endswith(STOPS) and not query.model_input.endswith(STOPS):
        text = text[:-1]
    links: tuple[Link, ...] = ()
    if hypothesis.attention_TS is not None:
        sources = [shift(query.rewriting.back(span), query.start) for span in word_spans(query.model_input)]
        words = word_spans(rewritten.before)
        if rewritten.before is restored.text:
            words = [restored.rewriting.forth(span) for span in word_spans(decoded)]
        targets = [clip(rewritten.forth(span), len(text)) for span in words]
        # Language tags and the symbol that asks for a form of address are not part of any word.
        first = sum(1 for _ in takewhile(coder.target.is_special, hypothesis.tokens))
        attention_TS = hypothesis.attention_TS[first:, len(source) - len(tokens) :]
        pieces = coder.source.pieces(tokens), coder.target.pieces(hypothesis.tokens[first:])
        links = link(attention_TS, *pieces, sources, targets)
    for items, insert in ((query.terms, with_terms), (query.marks, with_marks)):
        if items and not untouched:
            text, links, missing = insert(text, links, query)
            lost = (*lost, *missing)
    if lost:
        faults |= {"changed"}
    return Reading(text, hypothesis, faults, lost, restored.repaired, links)


def with_marks(text: str, links: Sequence[Link], query: Query) -> tuple[str, tuple[Link, ...], tuple[Item, ...]]:
    """Insert the marks of the source; return the text, its links, and the marks that could not be placed."""
    relative = [replace(each, source=shift(each.source, -query.start)) for each in links]
    placed = marks.place(text, query.rewriting.before, query.marks, relative)
    if placed is None:
        return text, tuple(links), query.marks
    return placed.after, tuple(replace(each, target=placed.forth(each.target)) for each in links), ()


def with_terms(text: str, links: Sequence[Link], query: Query) -> tuple[str, tuple[Link, ...], tuple[Item, ...]]:
    """Write the terms of a glossary; return the text, its links, and the terms that could not be placed."""
    relative = [replace(each, source=shift(each.source, -query.start)) for each in links]
    placed, missing = place_terms(text, query.rewriting.before, query.terms, relative)
    return placed.after, tuple(replace(each, target=placed.forth(each.target)) for each in links), tuple(missing)


def localised(items: Sequence[Item]) -> list[Item]:
    return sorted((item for item in items if item.written), key=lambda item: item.start)


def clip(span: Span, length: int) -> Span:
    return min(span[0], length), min(span[1], length)


def compare(candidate: Candidate, languages: tuple[str, str]) -> Candidate:
    """Compare the numbers and limits of a candidate with those of the source."""
    source = "".join(part if isinstance(part, str) else part.rewriting.before for part in candidate.attempt.parts)
    text = candidate.text
    numbers, limits = compare_numbers(source, text, *languages), compare_limits(source, text, *languages)
    return replace(candidate, numbers=numbers, limits=limits)


def choose_compared(best: Candidate, ranked: Sequence[Sequence[Reading]], languages: tuple[str, str]) -> Candidate:
    """Compare the best candidate with the source; if a number or limit differs, prefer readings where none does."""
    best = compare(best, languages)
    for place, readings in enumerate(ranked):
        for reading in readings[1:]:
            if best.faults.isdisjoint({"number", "limit"}):
                return best
            chosen = (*best.readings[:place], reading, *best.readings[place + 1 :])
            other = compare(replace(best, readings=chosen), languages)
            if other.rank[:-1] < best.rank[:-1]:
                best = other
    return best


def all_candidates(
    attempt: Attempt,
    requests: Sequence[Request],
    answers: Sequence[tuple[Hypothesis, ...]],
    coder: Coder,
    languages: tuple[str, str] | None = None,
) -> list[Candidate]:
    """All readings of an attempt with one query, each text once; see `best_candidate`."""
    source = requests[0].source[:-1]  # without EOS
    readings = (read(attempt.queries[0], source, hypothesis, coder) for hypothesis in answers[0])
    found: dict[str, Candidate] = {}
    for reading in readings:
        candidate = Candidate(attempt, (reading,))
        found.setdefault(candidate.text, candidate)
    return [compare(each, languages) if languages is not None else each for each in found.values()]


def best_candidate(
    attempt: Attempt,
    requests: Sequence[Request],
    answers: Sequence[tuple[Hypothesis, ...]],
    coder: Coder,
    nbest: int,
    languages: tuple[str, str] | None = None,
) -> Candidate:
    """Choose the best reading for each query, and the next ones without faults as alternatives.

    With `languages`, numbers and limits are compared with those of the source.
    """
    ranked = []
    for query, request, hypotheses in zip(attempt.queries, requests, answers, strict=True):
        source = request.source[:-1]  # without EOS
        readings = [read(query, source, hypothesis, coder) for hypothesis in hypotheses or (NOTHING,)]
        readings.sort(key=lambda each: (badness(each.faults), len(each.lost)))  # stable: ties keep the search order
        ranked.append([readings[0], *(reading for reading in readings[1:] if not reading.faults)])
    best = Candidate(attempt, tuple(readings[0] for readings in ranked))
    if languages is not None:
        best = choose_compared(best, ranked, languages)
    others: dict[str, Alternative] = {}
    for rank in range(1, max(map(len, ranked), default=0)):
        other = Candidate(attempt, tuple(readings[min(rank, len(readings) - 1)] for readings in ranked))
        if other.text != best.text:
            others.setdefault(other.text, Alternative(other.text, other.score))
    return replace(best, alternatives=tuple(islice(others.values(), nbest - 1)))


def find_faults(
    source: Sequence[int], target: Sequence[int], source_text: str, target_text: str, complete: bool
) -> frozenset[Fault]:
    """Return the faults of a translation; neither token sequence includes EOS."""
    faults: set[Fault] = set()
    if source and not target_text.strip():
        faults.add("empty")
    if is_looped(source, target):
        faults.add("looped")
    if is_absurd(len(source), len(target), SLACK) and is_absurd(
        letters(source_text), letters(target_text), CHARACTER_SLACK
    ):
        faults.add("length")
    if not complete:
        faults.add("truncated")
    return frozenset(faults)


def is_absurd(one: int, other: int, slack: int) -> bool:
    """Whether two lengths differ implausibly.

    Both tokens and letters are compared: tokens alone mislead where one side is encoded as bytes, letters alone where
    the scripts differ in a way that `letters` does not know.
    """
    return max(one, other) > RATIO * min(one, other) + slack


def is_short(source: str, translation: str) -> bool:
    return letters(translation) + FEW < SHORT * (letters(source) + FEW)


def is_long(source: str, translation: str) -> bool:
    return letters(translation) > LONG * letters(source) + FEW


def is_looped(source: Sequence[int], target: Sequence[int]) -> bool:
    """Whether the translation repeats itself far more than its source does."""
    pairs = len(target) - 1
    distinct = len(set(pairwise(target)))
    if pairs - distinct < LOOP // 2:  # too few repeats for a loop; nearly every sentence returns here
        return False
    repeated = repetition(target)
    if repeated >= LOOP and repeated > 2 * repetition(source) + 2:
        return True
    # Repeats with small changes between them: many bigrams, few of them distinct.
    source_ratio = len(set(pairwise(source))) / max(1, len(source) - 1)
    return pairs >= 4 * LOOP and distinct / pairs < min(0.5, source_ratio - 0.25)


def repetition(tokens: Sequence[int]) -> int:
    """The number of tokens covered by the longest run of one sequence repeated at least three times in a row."""
    longest = 0
    for period in range(1, min(PERIOD, len(tokens) // 3) + 1):
        run = 0
        for one, other in zip(tokens, tokens[period:], strict=False):
            run = run + 1 if one == other else 0
            if run >= 2 * period:
                longest = max(longest, run + period)
    return longest
