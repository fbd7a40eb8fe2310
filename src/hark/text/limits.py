"""Comparison of words of limit, order and negation in a source and its translation: at most, after, without, never."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby

from hark.text.limit_words import WORDS
from hark.text.numerals import Numerals, numerals_of

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
    sure: bool = True
    """Whether it calls for another translation. A negation has too many right translations without one ("he didn't
    care" is "es war ihm egal"): of five sentences that were decoded again for it, one got better and two worse."""


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
    if here is None or there is None or not (here.may_be_sure(source) or there.may_be_sure(translation)):
        return ()
    ours, theirs = here.marks(source), there.marks(translation)
    short = max(len(source), len(translation)) <= SHORT
    changes = list(_turned(ours, theirs, short))
    if not changes:
        changes += [LimitChange(text, None) for text in _missing_bounds(ours, theirs)]
        changes += [LimitChange(None, text) for text in _missing_bounds(theirs, ours)]
    if not changes and not any(text.rstrip().endswith("?") for text in (source, translation)):
        changes += [LimitChange(text, None, sure=False) for text in _missing_negation(ours, theirs, short)]
        changes += [LimitChange(None, text, sure=False) for text in _missing_negation(theirs, ours, short)]
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


class _Lexicon:
    """The words of a language. Patterns are compiled on first use, because that takes as long as ten sentences."""

    def __init__(self, words: Mapping[str, str], numerals: Numerals) -> None:
        spelled = (*numerals.units[2:], *numerals.tens, *numerals.scales, *numerals.fractions)
        # Compiling takes long, and the pattern of "six" also finds "sixteen".
        words_of_numbers = {word for each in spelled for word in each.split("|")}
        stems = sorted(
            word for word in words_of_numbers if not any(word[:end] in words_of_numbers for end in range(1, len(word)))
        )
        self._spelled = rf"\b(?:{'|'.join(stems)})"
        self._kinds: dict[str, list[str]] = {}
        for kind, listed in words.items():
            for item in " ".join(listed.split()).split(", "):
                # "(?:no|not) more" becomes two items, so that each has a first letter.
                heads = _HEADS.match(item)
                for head in heads[1].split("|") if heads else ("",):
                    self._kinds.setdefault(head + item[heads.end() if heads else 0 :], []).append(kind)
        self._items = sorted(self._kinds, key=lambda item: (not item[0].isalpha(), item[0], -len(item)))

    def may_be_sure(self, text: str) -> bool:
        """Whether a text may have a word that is evidence: most sentences have none."""
        return self._sure.search(text) is not None

    def marks(self, text: str) -> list[_Mark]:
        """Return the words of limit, order and negation of a text."""
        found = []
        every, number = self._with_words if self._words.search(text) else self._with_digits
        for match in every.finditer(text):
            start, end = match.span()
            numbered = number.search(text, max(0, start - AROUND), end + AROUND) is not None
            kinds = tuple(self._kinds[self._items[(match.lastindex or 1) - 1]])
            found.append(_Mark(kinds, match[0].strip(), start, end, numbered))
        negations = [mark for mark in found if not {"not", "without"}.isdisjoint(mark.kinds)]
        return [_negate(mark, negations, text) for mark in found] if negations else found

    @cached_property
    def _sure(self) -> re.Pattern[str]:
        def is_sure(item: str) -> bool:
            return any(SIDES[kind][0] not in ("", "with") or kind in LIKELY for kind in self._kinds[item])

        return _compile((item for item in self._items if is_sure(item)), "", "")

    @cached_property
    def _words(self) -> re.Pattern[str]:
        return re.compile(self._spelled, re.IGNORECASE)

    @cached_property
    def _with_words(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        return self._all(rf"(?:\d|{self._spelled})")

    @cached_property
    def _with_digits(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """For texts without number words, because it is compiled in a third of the time."""
        return self._all(r"\d")

    def _all(self, number: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """The patterns of all items and of a number."""
        adjacent, soon = rf"(?=\W{{0,3}}{number})", rf"(?=(?:\W+\w+){{0,2}}?\W{{1,3}}{number})"
        return _compile(self._items, adjacent, soon), re.compile(number, re.IGNORECASE)


def _compile(items: Iterable[str], adjacent: str, soon: str) -> re.Pattern[str]:
    """A pattern of items, with a group for each; `adjacent` and `soon` stand for # and ##."""

    def expand(item: str) -> str:
        end = "" if item.endswith("#") else r"\b"
        return item.replace(" #", "#").replace(" ", r"\s").replace("##", soon).replace("#", adjacent) + end

    # Grouping by first letters makes the search several times faster.
    groups = []
    for letter, same in groupby(items, key=lambda item: item[0] if item[0].isalpha() else ""):
        groups.append(letter + "(?:" + "|".join(f"({expand(item[len(letter) :])})" for item in same) + ")")
    return re.compile(r"\b(?:" + "|".join(groups) + ")", re.IGNORECASE)


def _negate(mark: _Mark, negations: Sequence[_Mark], text: str) -> _Mark:
    """Return a mark as it is after taking a negation near it into account."""
    if mark.possible.isdisjoint({"low", "high", "before", "after"}):
        return mark
    for negation in negations:
        follows = negation.end <= mark.start
        gap = (negation.end, mark.start) if follows else (mark.end, negation.start)
        if 0 <= gap[1] - gap[0] <= NEAR and not _BREAK.search(text, *gap):
            kinds = tuple(NEGATED.get(kind, "either") if follows else "either" for kind in mark.kinds)
            whole = text[min(negation.start, mark.start) : max(negation.end, mark.end)]
            return replace(mark, kinds=kinds, text=whole.strip())
    return mark


@cache
def _lexicon(language: str) -> _Lexicon | None:
    words = WORDS.get(language.split("-")[0].lower())
    return None if words is None else _Lexicon(words, numerals_of(language))
