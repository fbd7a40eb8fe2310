"""Roles of heads: measures of where they look over a corpus, and the most specific name for most of their weight.

Of a decoder alone, some roles show only where tokens come again; `induction` measures them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hark.inspect.attention import Attention, AttentionKind, Head
from hark.text.vocabulary import SPACE, Vocabulary

HeadMeasure = Literal[
    "previous", "same", "next", "near", "start", "end", "punctuation", "entropy", "evenness", "distance",
    "induction", "duplicate", "copying",
]  # fmt: skip
"""All but the entropy and what follows it are shares of a head's weight. They overlap: the previous token is also near.
The last three are of repeated random tokens (`hark.inspect.heads.induction`)."""
NEAR = 2
"""Tokens on either side that count as near."""

Array = NDArray[np.float64]
Steps = tuple[NDArray[np.floating], NDArray[np.bool_]]
"""A value for each step, (L, H, T), and a mask of the steps that count."""
Role = Literal[
    "previous", "same", "next", "start", "end", "punctuation", "translation", "written", "induction", "duplicate",
    "near", "broad", "mixed",
]  # fmt: skip
TITLES: dict[Role, str] = {
    "previous": "previous token",
    "same": "the token itself",
    "next": "next token",
    "start": "start of sentence",
    "end": "end of sentence",
    "punctuation": "punctuation",
    "translation": "word to translate",
    "written": "word just written",
    "induction": "induction",
    "duplicate": "same token before",
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
Purpose = Literal["translation", "text", "text to text"]
"""What a model does: it translates, has one stack that reads a text, or makes one text of another."""
OWN: dict[Purpose, dict[Role, str]] = {
    "translation": {},
    "text": {"start": "first token", "end": "separator"},  # the text has no end, but an encoder's has [SEP] there
    "text to text": {"start": "first token", "end": "end of text"},
}
"""Display names that depend on that."""
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


@dataclass
class HeadTally:
    """Sums of measures over steps, by layer and head, with the number of steps of each sum."""

    sums_LH: dict[tuple[AttentionKind, HeadMeasure], Array] = field(default_factory=dict)
    steps: dict[tuple[AttentionKind, HeadMeasure], int] = field(default_factory=dict)

    def add(self, attention: Attention, marks: Mapping[AttentionKind, NDArray[np.bool_]], opened: bool = False) -> None:
        """Add a pair of texts or one; the masks mark the punctuation among the keys of each kind of attention."""
        for kind in attention.kinds:
            for measure, (values_LHT, counts_T) in measure_weights(
                kind, attention.of(kind), marks[kind], opened
            ).items():
                sums_LH = values_LHT[..., counts_T].sum(-1, dtype=np.float64)
                key = kind, measure
                self.sums_LH[key] = self.sums_LH.get(key, np.zeros_like(sums_LH)) + sums_LH
                self.steps[key] = self.steps.get(key, 0) + int(counts_T.sum())

    def means(self) -> dict[Head, dict[HeadMeasure, float]]:
        """The mean measures of each head. A measure that applies to no step of the corpus is omitted."""
        found: dict[Head, dict[HeadMeasure, float]] = {}
        for (kind, measure), sums_LH in self.sums_LH.items():
            if steps := self.steps[kind, measure]:
                for (layer, number), value in np.ndenumerate(sums_LH / steps):
                    found.setdefault(Head(kind, layer, number), {})[measure] = float(value)
        return found


def measure_weights(
    kind: AttentionKind, weights_LHTS: NDArray[np.float32], marks_S: NDArray[np.bool_], opened: bool = False
) -> Mapping[HeadMeasure, Steps]:
    """Measure the weights of one sentence. `marks_S` marks the keys that are punctuation; `opened`: the first token of
    an encoder is a special one, too.

    A step counts only if it has more than one key, and only for measures whose key exists. The decoder's start and the
    source's EOS do not count if they are the token itself or its neighbour. Cross-attention connects two sentences, so
    its offsets are counted from the diagonal.
    """
    n_queries, n_keys = weights_LHTS.shape[-2:]
    at_T = np.arange(n_queries)
    seen_T = at_T + 1 if kind == "decoder" else np.full(n_queries, n_keys)
    if kind == "cross":
        at_T = np.rint(at_T * (n_keys - 1) / max(1, n_queries - 1)).astype(np.intp)
    offset_TS = np.arange(n_keys)[None, :] - at_T[:, None]

    def mean_of(values_TS: NDArray[Any], counts_T: NDArray[np.bool_]) -> Steps:
        values_TS = np.broadcast_to(values_TS, offset_TS.shape).astype(np.float32)
        return np.einsum("lhts,ts->lht", weights_LHTS, values_TS), counts_T & (seen_T > 1)

    every_T = np.ones(n_queries, bool)
    found: dict[HeadMeasure, Steps] = {
        "previous": mean_of(offset_TS == -1, at_T >= 1),
        "same": mean_of(offset_TS == 0, every_T),
        "near": mean_of(np.abs(offset_TS) <= NEAR, seen_T > 2 * NEAR + 1),
        "punctuation": mean_of(marks_S, every_T & marks_S.any()),
        "distance": mean_of(np.abs(offset_TS), every_T),
    }
    if kind == "decoder" or opened:
        found["start"] = mean_of(np.arange(n_keys) == 0, at_T >= 2)
    if kind != "decoder":
        found["next"] = mean_of(offset_TS == 1, at_T <= n_keys - 2)
        found["end"] = mean_of(np.arange(n_keys) == n_keys - 1, at_T <= n_keys - 3)
    entropy_LHT = -(weights_LHTS * np.log2(np.maximum(weights_LHTS, 1e-30))).sum(-1)
    found["entropy"] = entropy_LHT, seen_T > 1
    found["evenness"] = entropy_LHT / np.log2(np.maximum(seen_T, 2)), seen_T > 1
    return found


def marks_of(vocabulary: Vocabulary) -> NDArray[np.bool_]:
    """Mark the ids that are punctuation: no letters or digits, no byte tokens, no special tokens."""
    ids = range(vocabulary.vocab_size)
    bare = (piece.lstrip(SPACE) for piece in vocabulary.pieces(ids))
    return np.array(
        [
            bool(piece)
            and not any(map(str.isalnum, piece))
            and not vocabulary.is_special(token)
            and vocabulary.byte_of(token) is None
            for token, piece in zip(ids, bare, strict=True)
        ]
    )


@dataclass(frozen=True)
class NamedRole:
    """A role with its share of weight; for `broad` the evenness, for `mixed` the largest share."""

    role: Role
    share: float
    partly: Role | None = None
    """The role of a mixed head's largest share."""

    def title(self, kind: AttentionKind, purpose: Purpose = "translation") -> str:
        own = OWN[purpose]
        if self.partly is not None:
            return f"partly {(PARTLY | own)[self.partly]}"
        return (TITLES | own | (DIAGONAL if kind == "cross" else {}))[self.role]


def name(measures: Mapping[HeadMeasure, float], translation: float = 0.0, written: float = 0.0) -> NamedRole:
    """Name a head by its measures, and by its shares of weight on linked words at the steps that predict and read.

    What a head does with tokens that come again is its name, even if it has little to do in the corpus."""
    repeated: dict[Role, float] = {"induction": measures.get("induction", 0), "duplicate": measures.get("duplicate", 0)}
    role, share = max(repeated.items(), key=lambda each: each[1])
    if share >= NAMED:
        return NamedRole(role, share)
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
