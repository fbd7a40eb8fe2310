"""What is wrong with a translation, in words: the line that a person reads beside a flag."""

from collections.abc import Iterable
from dataclasses import dataclass

from hark.decode.faults import FAULTS, Fault

SAID: dict[Fault, str] = {
    "empty": "nothing came out, so the source stands in its place",
    "looped": "the translation repeats itself",
    "truncated": "the translation was cut off",
    "changed": "something that must stay as it is was changed",
    "number": "a number changed",
    "lost": "words may be lost",
    "invented": "longer than its source: words may be made up",
    "length": "the length does not fit the source",
    "language": "not translated: another language",
    "unsure": "low confidence",
}
LONGEST = 60
"""Characters of a detail that are shown."""


@dataclass(frozen=True)
class Reason:
    """A fault of a translation, and what it is about."""

    flag: Fault
    detail: str = ""
    """The strings that it is about: `120 -> 1`."""

    def __str__(self) -> str:
        detail = self.detail if len(self.detail) <= LONGEST else self.detail[: LONGEST - 1] + "…"
        return f"{SAID[self.flag]} ({detail})" if detail else SAID[self.flag]


def in_order(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """The worst first, those of the same flag as one."""
    details: dict[Fault, dict[str, None]] = {}
    for each in reasons:
        details.setdefault(each.flag, {})[each.detail] = None
    return tuple(Reason(flag, ", ".join(filter(None, details[flag]))) for flag in FAULTS if flag in details)
