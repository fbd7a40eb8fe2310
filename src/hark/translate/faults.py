"""Language-independent fault detection: compares the tokens and lengths of a translation with those of its source."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from hark.text.segments import letters

Fault = Literal[
    "empty", "looped", "truncated", "changed", "number", "limit", "lost", "invented", "length", "language", "unsure"
]  # fmt: skip
"""What is wrong with a translation, worst first.

empty: no output. looped: the same words over and over. truncated: cut off at the length limit. changed: protected text
is missing, altered or repeated. number: a number is missing, different or invented. limit: a word of limit, order or
negation has turned round, is missing or was added. lost: source words have no counterpart. invented: words without a
counterpart in the source. length: implausibly long or short. language: the source is not in the model's language.
unsure: the model's confidence is low.
"""
FAULTS: tuple[Fault, ...] = get_args(Fault)
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
UNSURE = 0.45
"""Mean negative log-probability per token above which a translation counts as unsure, unless the model's facts have a
threshold of its own. Measured: docs/trust.md."""


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


MESSAGES: dict[Fault, str] = {
    "empty": "the model produced nothing; the source text was kept",
    "looped": "the translation repeats itself",
    "truncated": "the translation was cut off",
    "changed": "protected text was changed",
    "number": "a number changed",
    "limit": "a limit, an order or a negation changed",
    "lost": "words may be missing",
    "invented": "much longer than the source; words may be invented",
    "length": "implausible length for the source",
    "language": "not translated: not in the source language",
    "unsure": "low confidence",
}
MAX_DETAIL_CHARS = 60
"""Maximum characters of a detail to show."""


@dataclass(frozen=True)
class Reason:
    """A fault of a translation, with the text that it concerns."""

    flag: Fault
    detail: str = ""
    """The affected text, such as `120 -> 1`."""

    def __str__(self) -> str:
        detail = self.detail if len(self.detail) <= MAX_DETAIL_CHARS else self.detail[: MAX_DETAIL_CHARS - 1] + "…"
        return f"{MESSAGES[self.flag]} ({detail})" if detail else MESSAGES[self.flag]


def in_order(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Sort reasons by severity, worst first, and merge those with the same flag."""
    details: dict[Fault, dict[str, None]] = {}
    for reason in reasons:
        details.setdefault(reason.flag, {})[reason.detail] = None
    return tuple(Reason(flag, ", ".join(filter(None, details[flag]))) for flag in FAULTS if flag in details)
