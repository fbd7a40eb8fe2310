"""Warning messages for faulty translations: one line of text for each flag."""

from collections.abc import Iterable
from dataclasses import dataclass

from hark.decode.faults import FAULTS, Fault

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
LONGEST = 60
"""Maximum characters of a detail to show."""


@dataclass(frozen=True)
class Reason:
    """A fault of a translation, with the text that it concerns."""

    flag: Fault
    detail: str = ""
    """The affected text, such as `120 -> 1`."""

    def __str__(self) -> str:
        detail = self.detail if len(self.detail) <= LONGEST else self.detail[: LONGEST - 1] + "…"
        return f"{MESSAGES[self.flag]} ({detail})" if detail else MESSAGES[self.flag]


def in_order(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Sort reasons by severity, worst first, and merge those with the same flag."""
    details: dict[Fault, dict[str, None]] = {}
    for each in reasons:
        details.setdefault(each.flag, {})[each.detail] = None
    return tuple(Reason(flag, ", ".join(filter(None, details[flag]))) for flag in FAULTS if flag in details)
