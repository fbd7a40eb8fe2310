"""Names the role of a head: the most specific description of most of its weight."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hark.inspect.attention import AttentionKind
from hark.inspect.heads.measures import HeadMeasure

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
    "near": "nearby tokens",
    "broad": "all over",
    "mixed": "mixed",
}
"""Display names."""
DIAGONAL: dict[Role, str] = {
    "previous": "before the diagonal",
    "same": "the diagonal",
    "next": "after the diagonal",
    "near": "near the diagonal",
}
"""Display names for cross-attention, where positions are relative to the diagonal."""
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
"""Minimum share of a head's weight for a role."""
BROAD = 0.75
"""Minimum evenness (entropy as a share of its maximum) of a broad head."""
PRECISE: tuple[Literal["previous", "same", "next", "start", "end", "punctuation"], ...] = (
    "previous",
    "same",
    "next",
    "start",
    "end",
    "punctuation",
)


FAINT = 0.2
"""Minimum share of a mixed head's weight for its partial role."""


@dataclass(frozen=True)
class NamedRole:
    """A role with its share of weight; for `broad` the evenness, for `mixed` the largest share."""

    role: Role
    share: float
    partly: Role | None = None
    """The role of a mixed head's largest share."""

    def title(self, kind: AttentionKind) -> str:
        if self.partly is not None:
            return f"partly {PARTLY[self.partly]}"
        return (DIAGONAL.get(self.role) if kind == "cross" else None) or TITLES[self.role]


def name(measures: Mapping[HeadMeasure, float], translation: float = 0.0, written: float = 0.0) -> NamedRole:
    """Name a head by its measures, and by its shares of weight on linked words at the steps that predict and read."""
    shares: dict[Role, float] = {each: measures.get(each, 0.0) for each in PRECISE}
    shares |= {"translation": translation, "written": written}
    role, share = max(shares.items(), key=lambda each: each[1])
    if share >= NAMED:
        return NamedRole(role, share)
    # Linked words are mostly near the diagonal; the link is the more specific description.
    links = role in ("translation", "written") and share >= FAINT
    if measures.get("near", 0.0) >= NAMED and not links:
        return NamedRole("near", measures["near"])
    if measures["evenness"] >= BROAD:
        return NamedRole("broad", measures["evenness"])
    return NamedRole("mixed", share, role if share >= FAINT else None)
