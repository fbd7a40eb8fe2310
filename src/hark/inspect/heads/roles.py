"""What a head does, in a word: the most specific thing that most of its weight can be said to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hark.inspect.attention import Kind
from hark.inspect.heads.measures import Measure

Role = Literal[
    "previous", "same", "next", "start", "end", "punctuation", "translation", "written", "near", "broad", "mixed"
]
TITLES: dict[Role, str] = {
    "previous": "previous token",
    "same": "the token itself",
    "next": "next token",
    "start": "start of sentence",
    "end": "end of sentence",
    "punctuation": "punctuation",
    "translation": "word to translate",
    "written": "word just written",
    "near": "near tokens",
    "broad": "all over",
    "mixed": "mixed",
}
"""For people."""
DIAGONAL: dict[Role, str] = {
    "previous": "before the diagonal",
    "same": "the diagonal",
    "next": "after the diagonal",
    "near": "near the diagonal",
}
"""What the same are called between two sentences, which have no places in common."""
PARTLY: dict[Role, str] = {
    "previous": "previous",
    "same": "itself",
    "next": "next",
    "start": "start",
    "end": "end",
    "punctuation": "punctuation",
    "translation": "to translate",
    "written": "just written",
}
NAMED = 0.5
"""A head is called by what at least this share of its weight does."""
BROAD = 0.75
"""Or by its breadth, if its entropy is this share of what it could be."""
PRECISE: tuple[Literal["previous", "same", "next", "start", "end", "punctuation"], ...] = (
    "previous",
    "same",
    "next",
    "start",
    "end",
    "punctuation",
)


FAINT = 0.2
"""A head of many things is said to do partly what at least this share of its weight does."""


@dataclass(frozen=True)
class Named:
    """A role and how much of it: the share of weight; of `broad` its evenness, of `mixed` its largest share."""

    role: Role
    share: float
    partly: Role | None = None
    """Of a mixed head: what its largest share does."""

    def title(self, kind: Kind) -> str:
        if self.partly is not None:
            return f"partly {PARTLY[self.partly]}"
        return (DIAGONAL.get(self.role) if kind == "cross" else None) or TITLES[self.role]


def name(measures: Mapping[Measure, float], translation: float = 0.0, written: float = 0.0) -> Named:
    """The role of a head by its measures, and by its shares on linked words at the step that predicts and reads."""
    shares: dict[Role, float] = {each: measures.get(each, 0.0) for each in PRECISE}
    shares |= {"translation": translation, "written": written}
    role, share = max(shares.items(), key=lambda each: each[1])
    if share >= NAMED:
        return Named(role, share)
    # Words that belong together are mostly near the diagonal: to say that they are linked says more.
    links = role in ("translation", "written") and share >= FAINT
    if measures.get("near", 0.0) >= NAMED and not links:
        return Named("near", measures["near"])
    if measures["evenness"] >= BROAD:
        return Named("broad", measures["evenness"])
    return Named("mixed", share, role if share >= FAINT else None)
