"""Comparison of words of limit, order and negation in a source and its translation: at most, after, without, never."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

from hark.text.limit_words import WORDS
from hark.text.numerals import numerals_of

SIDES: Mapping[str, tuple[str, str]] = {
    "most": ("low", "low before not"),
    "least": ("high", "high after not"),
    "upto": ("low", "low before not"),
    "not over": ("low", "low not"),
    "not under": ("high", "high not"),
    "under": ("low", "low"),
    "over": ("high", "high"),
    "less": ("", "low"),
    "more": ("", "high"),
    "before": ("before", "before low"),
    "after": ("after", "after high"),
    "before?": ("", "before low"),
    "after?": ("", "after high"),
    "early": ("", "before low"),
    "late": ("", "after high"),
    "either": ("", "low high before after not"),
    "with": ("with", "with"),
    "without": ("not without", "not without"),
    "not": ("not", "not"),
    "lack": ("", "not without"),
    "hint": ("", "hint"),
    "skip": ("", ""),
}
"""What each kind of word says: for sure, and possibly. The kinds are those of `limit_words.py`."""
OPPOSITES = (
    ("low", "high"), ("high", "low"), ("before", "after"), ("after", "before"),
    ("without", "with"), ("with", "without"),
)  # fmt: skip
BOUNDS = (("most", "low"), ("least", "high"))
LIKELY = {"before?": "before", "after?": "after"}
"""Ambiguous words that count where the other side of the comparison is sure."""
NEGATED = {"over": "not over", "under": "not under"}
"""Kinds after a negation; other negated words may say anything."""
NEAR, AROUND = 40, 24
"""Maximum characters between a negation and the word that it negates, and between a bound and its number."""
SHORT = 90
"""Maximum characters of a text in which a negation must have a counterpart, and "with" must not become "without", even
if other words hint at one ("too", "but"). Longer sentences are often rephrased. Measured: docs/trust.md."""
_ORDERS = frozenset({"before", "before?", "early", "after", "after?", "late", "lack", "hint"})
_HEADS = re.compile(r"\(\?:([^()]+)\)(?!\?)")
_BREAK = re.compile(r"[,;:.!?()](?:\s|$)")


@dataclass(frozen=True)
class LimitChange:
    """A word of limit, order or negation, and what stands for it in the translation; None if nothing does."""

    source: str | None
    translation: str | None


@dataclass(frozen=True)
class _Mark:
    """A word or phrase of limit, order or negation."""

    kinds: tuple[str, ...]
    text: str
    start: int
    end: int
    numbered: bool
    """Whether a number is near."""

    @property
    def sure(self) -> set[str]:
        return {side for kind in self.kinds for side in SIDES[kind][0].split()}

    @property
    def possible(self) -> set[str]:
        return {side for kind in self.kinds for side in SIDES[kind][1].split()}

    @property
    def orders(self) -> bool:
        """Whether it says nothing but what comes first."""
        return _ORDERS.issuperset(self.kinds)


class _Sides:
    """How often a text says each side: for sure, possibly, and in the likely sense of an ambiguous word."""

    def __init__(self, marks: Sequence[_Mark], others: Sequence[_Mark]) -> None:
        kinds, their_kinds = (Counter(kind for mark in each for kind in mark.kinds) for each in (marks, others))
        self.sure = Counter(side for mark in marks for side in mark.sure)
        self.possible = Counter(side for mark in marks for side in mark.possible)
        for (kind, negated), side in zip(NEGATED.items(), ("high", "low"), strict=True):
            # "More than" may stand for "no more than" if its negation is elsewhere in the sentence.
            if self.possible["not"]:
                self.sure[side] -= min(kinds[kind], their_kinds[negated])
            if any("not" in mark.possible for mark in others):
                self.possible[side] += min(their_kinds[kind], kinds[negated])
        self.likely = self.sure.copy()
        for kind, side in LIKELY.items():
            self.likely[side] += kinds[kind]


def compare_limits(
    source: str, translation: str, source_language: str, target_language: str
) -> tuple[LimitChange, ...]:
    """Return the words of limit, order and negation that turned round, disappeared, or came from nowhere.

    Only what is provable counts: a word with several senses has the one that makes the translation right.
    """
    here, there = _lexicon(source_language), _lexicon(target_language)
    if here is None or there is None or not (here.sure.search(source) or there.sure.search(translation)):
        return ()
    ours, theirs = here.marks(source), there.marks(translation)
    short = max(len(source), len(translation)) <= SHORT
    changes = list(_turned(ours, theirs, short))
    if not changes:
        changes += [LimitChange(text, None) for text in _missing_bounds(ours, theirs)]
        changes += [LimitChange(None, text) for text in _missing_bounds(theirs, ours)]
    if not changes and not any(text.rstrip().endswith("?") for text in (source, translation)):
        changes += [LimitChange(text, None) for text in _missing_negation(ours, theirs, short)]
        changes += [LimitChange(None, text) for text in _missing_negation(theirs, ours, short)]
    return tuple(changes)


def _turned(ours: Sequence[_Mark], theirs: Sequence[_Mark], short: bool) -> Iterator[LimitChange]:
    """Find words that the translation lacks, with their opposites, which the source lacks."""
    our, their = _Sides(ours, theirs), _Sides(theirs, ours)
    for one, other in OPPOSITES:
        lacking = our.possible[one] > their.possible[one]
        if (
            (our.sure[one] > their.possible[one] and their.likely[other] > our.possible[other])
            or (our.likely[one] > their.possible[one] and their.sure[other] > our.possible[other])
            or (our.sure[one] > their.likely[one] and their.sure[other] > our.likely[other])
        ) and (lacking and (short or one == "without") if "with" in (one, other) else True):
            yield LimitChange(_text(ours, one), _text(theirs, other))


def _missing_bounds(ours: Sequence[_Mark], theirs: Sequence[_Mark]) -> Iterator[str]:
    """Find the bounds of our numbers for which the other side has nothing at all."""
    for kind, side in BOUNDS:
        answers = [mark for mark in theirs if side in mark.possible]
        # "Before" may translate "at the latest", unless it translates "before".
        spare = sum(mark.orders for mark in answers) - sum(mark.orders for mark in ours if side in mark.possible)
        if spare <= 0 and all(mark.orders for mark in answers):
            yield from (mark.text for mark in ours if kind in mark.kinds and mark.numbered)


def _missing_negation(ours: Sequence[_Mark], theirs: Sequence[_Mark], short: bool) -> Iterator[str]:
    """Find our first negation if the other side has nothing negative at all."""
    answers = {"not"} if short else {"not", "hint"}
    if all(answers.isdisjoint(mark.possible) for mark in theirs):
        yield from [mark.text for mark in ours if "not" in mark.sure][:1]


def _text(marks: Sequence[_Mark], side: str) -> str:
    """The first word that says a side, as surely as possible."""
    return max(marks, key=lambda mark: (side in mark.sure, side in mark.possible)).text


@dataclass(frozen=True)
class _Lexicon:
    """The words of a language."""

    sure: re.Pattern[str]
    """Finds words that are evidence: most sentences have none."""
    every: re.Pattern[str]
    kinds: Sequence[tuple[str, ...]]
    """The kinds of each group of `every`."""
    number: re.Pattern[str]

    def marks(self, text: str) -> list[_Mark]:
        """Return the words of limit, order and negation of a text."""
        found = []
        for match in self.every.finditer(text):
            start, end = match.span()
            numbered = self.number.search(text, max(0, start - AROUND), end + AROUND) is not None
            found.append(_Mark(self.kinds[(match.lastindex or 1) - 1], match[0].strip(), start, end, numbered))
        negations = [mark for mark in found if not {"not", "without"}.isdisjoint(mark.kinds)]
        return [_negate(mark, negations, text) for mark in found] if negations else found


def _negate(mark: _Mark, negations: Sequence[_Mark], text: str) -> _Mark:
    """Return a mark as it is after taking a negation near it into account."""
    if mark.possible.isdisjoint({"low", "high", "before", "after"}):
        return mark
    for each in negations:
        follows = each.end <= mark.start
        gap = (each.end, mark.start) if follows else (mark.end, each.start)
        if 0 <= gap[1] - gap[0] <= NEAR and not _BREAK.search(text, *gap):
            kinds = tuple(NEGATED.get(kind, "either") if follows else "either" for kind in mark.kinds)
            return replace(mark, kinds=kinds, text=text[min(each.start, mark.start) : max(each.end, mark.end)].strip())
    return mark


@cache
def _lexicon(language: str) -> _Lexicon | None:
    words = WORDS.get(language.split("-")[0].lower())
    if words is None:
        return None
    numerals = numerals_of(language)
    spelled = "|".join((*numerals.units[2:], *numerals.tens, *numerals.scales, *numerals.fractions))
    number = rf"(?:\d|\b(?:{spelled}))"
    soon, adjacent = rf"(?=(?:\W+\w+){{0,2}}?\W{{1,3}}{number})", rf"(?=\W{{0,3}}{number})"
    kinds: dict[str, list[str]] = {}
    for kind, listed in words.items():
        for item in " ".join(listed.split()).split(", "):
            # "(?:no|not) more" becomes two items, so that each has a first letter.
            heads = _HEADS.match(item)
            for head in heads[1].split("|") if heads else ("",):
                kinds.setdefault(head + item[heads.end() if heads else 0 :], []).append(kind)

    def first(item: str) -> str:
        return item[0] if item[0].isalpha() else ""

    def expand(item: str) -> str:
        end = "" if item.endswith("#") else r"\b"
        spaced = item.replace(" #", "#").replace(" ", r"\s")
        return spaced.replace("##", soon).replace("#", adjacent) + end

    def compiled(items: Sequence[str]) -> re.Pattern[str]:
        # Grouping by first letters makes the search several times faster.
        groups = []
        for letter, same in groupby(items, key=first):
            groups.append(letter + "(?:" + "|".join(f"({expand(item[len(letter) :])})" for item in same) + ")")
        return re.compile(r"\b(?:" + "|".join(groups) + ")", re.IGNORECASE)

    every = sorted(kinds, key=lambda item: (not item[0].isalpha(), item[0], -len(item)))
    sure = [item for item in every if any(SIDES[kind][0] not in ("", "with") or kind in LIKELY for kind in kinds[item])]
    return _Lexicon(compiled(sure), compiled(every), [tuple(kinds[item]) for item in every], re.compile(number, re.I))
