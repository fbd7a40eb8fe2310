"""What can be wrong with a translation, told from its tokens and those of its source, without knowing the language."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

Fault = Literal["empty", "looped", "truncated", "changed", "number", "lost", "invented", "length", "language", "unsure"]
"""Nothing came out; the same words again and again; cut off at the limit; something that must come out unchanged is
missing or doubled; a number is missing, different or made up; words of the source have no counterpart; words without
any in the source; absurdly long or short; not in the language that the model reads; the model itself is not sure."""
FAULTS: tuple[Fault, ...] = (
    "empty", "looped", "truncated", "changed", "number", "lost", "invented", "length", "language", "unsure",
)  # fmt: skip
"""The worst first."""

LOOP = 8
"""Tokens that a stretch said over and over must cover to be called a loop."""
PERIOD = 24
"""Tokens in the longest stretch that is looked for."""
RATIO, SLACK = 3.0, 12
"""One side of a translation may have this many times the other's tokens, and these more."""
CHARACTER_SLACK = 40
SHORT, LONG, FEW = 0.5, 2.2, 12
"""A translation with fewer than `SHORT` times the characters of its source, or more than `LONG` times, may have lost
something, or made it up; `FEW` characters more or less are no matter. docs/trust.md says how often people go beyond."""
UNSURE = 0.45
"""Mean negative log-probability of a token beyond which a translation is not to be trusted. Measured, docs/trust.md."""


def find_faults(
    source: Sequence[int], target: Sequence[int], source_text: str, target_text: str, complete: bool
) -> frozenset[Fault]:
    """The faults of a translation; tokens without EOS."""
    faults: set[Fault] = set()
    if source and not target_text.strip():
        faults.add("empty")
    if is_looped(source, target):
        faults.add("looped")
    if is_absurd(len(source), len(target), SLACK) and is_absurd(len(source_text), len(target_text), CHARACTER_SLACK):
        faults.add("length")
    if not complete:
        faults.add("truncated")
    return frozenset(faults)


def is_absurd(one: int, other: int, slack: int) -> bool:
    """Tokens alone mislead where one side is spelled in bytes, characters alone where scripts differ."""
    return max(one, other) > RATIO * min(one, other) + slack


def is_short(source: str, translation: str) -> bool:
    return len(translation) + FEW < SHORT * (len(source) + FEW)


def is_long(source: str, translation: str) -> bool:
    return len(translation) > LONG * len(source) + FEW


def is_looped(source: Sequence[int], target: Sequence[int]) -> bool:
    """Whether the translation repeats itself far beyond what its source does."""
    pairs = len(target) - 1
    distinct = len(set(pairwise(target)))
    if pairs - distinct < LOOP // 2:  # too few repeats for any loop; nearly every sentence ends here
        return False
    repeated = repetition(target)
    if repeated >= LOOP and repeated > 2 * repetition(source) + 2:
        return True
    # Repeats with small changes between them: few of many pairs of neighbours are new.
    own = len(set(pairwise(source))) / max(1, len(source) - 1)
    return pairs >= 4 * LOOP and distinct / pairs < min(0.5, own - 0.25)


def repetition(tokens: Sequence[int]) -> int:
    """How many tokens the longest run of one stretch, three times or more in a row, covers."""
    longest = 0
    for period in range(1, min(PERIOD, len(tokens) // 3) + 1):
        run = 0
        for one, other in zip(tokens, tokens[period:], strict=False):
            run = run + 1 if one == other else 0
            if run >= 2 * period:
                longest = max(longest, run + period)
    return longest
