"""The result of a translation: the text, its sentences, scores, flags and word links."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from hark.engine.request import length_penalty
from hark.text.address import Address
from hark.text.segments import TextLayout
from hark.translate.align import Link
from hark.translate.faults import FAULTS, Fault, Reason
from hark.translate.faults import in_order as order_reasons

Care = Literal["copied", "phrase", "split", "tidied", "recased", "retried", "repaired", "untranslated"]
"""How a sentence was handled.

copied: it has nothing to translate. phrase: taken from the phrase table. split: translated in parts, because it was too
long or failed as a whole. tidied: typing errors (dont, schoen) were corrected first. recased: translated in lower case,
then put back into capitals. retried: decoded again, because the first translation was faulty. repaired: text that the
model lost or changed was restored. untranslated: the model produced nothing, so the source was kept.
"""
Flag = Care | Fault
FLAGS: tuple[Flag, ...] = (*get_args(Care), *FAULTS)
"""All flags, in the order in which results list them. Those in `FAULTS` are warnings."""


@dataclass(frozen=True)
class Alternative:
    """Another translation of the same text."""

    text: str
    score: float


@dataclass(frozen=True)
class Sentence:
    """A sentence and its translation; `source_start` and `start` are their offsets in the two texts."""

    source: str
    text: str
    score: float | None
    """Log-probability divided by the length penalty; the token-weighted mean if translated in parts. None if nothing
    was translated."""
    tokens: int
    """Length of the translation in tokens, EOS included: the weight of the score in a mean."""
    flags: tuple[Flag, ...] = ()
    reasons: tuple[Reason, ...] = ()
    """Its faults, worst first."""
    links: tuple[Link, ...] = ()
    """The word alignment, on request; offsets are relative to this sentence."""
    alternatives: tuple[Alternative, ...] = ()
    """Further translations without faults, best first, on request."""
    source_start: int = 0
    start: int = 0

    def doubt(self, alpha: float) -> float | None:
        """The mean negative log-probability per token; `alpha` is the length penalty of the search. None if nothing
        was translated."""
        if self.score is None or not self.tokens:
            return None
        return -self.score * length_penalty(self.tokens, alpha) / self.tokens


@dataclass(frozen=True)
class Translation:
    """A text and its translation."""

    source: str
    text: str
    sentences: tuple[Sentence, ...]
    layout: TextLayout
    formality: Address | None = None
    """The form of address that the model was asked for."""

    @property
    def score(self) -> float | None:
        """The token-weighted mean of the sentence scores."""
        return mean((sentence.score, sentence.tokens) for sentence in self.sentences)

    def confidence(self, alpha: float) -> float | None:
        """The model's mean probability of a token in the sentence that it is least sure of, as in the warning `low
        confidence`; None if nothing was translated."""
        doubts = [doubt for sentence in self.sentences if (doubt := sentence.doubt(alpha)) is not None]
        return math.exp(-max(doubts)) if doubts else None

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The flags of all sentences; `copied` only if no sentence was translated."""
        flags = {flag for sentence in self.sentences for flag in sentence.flags}
        if any("copied" not in sentence.flags for sentence in self.sentences):
            flags.discard("copied")
        return in_order(flags)

    @property
    def doubtful(self) -> tuple[Flag, ...]:
        """The flags that are warnings."""
        return tuple(flag for flag in self.flags if flag in FAULTS)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The faults of all sentences, worst first."""
        return order_reasons(reason for sentence in self.sentences for reason in sentence.reasons)

    @property
    def links(self) -> tuple[Link, ...]:
        """The word alignment, with offsets in the whole texts."""
        return tuple(
            Link(shift(link.source, sentence.source_start), shift(link.target, sentence.start), link.weight)
            for sentence in self.sentences
            for link in sentence.links
        )

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Further translations of the text: the second-best of every sentence, the third-best, and so on."""
        return combine(self.layout, self.sentences)


class Part(Protocol):
    """A translated part of a text: a sentence, or a piece of one."""

    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float | None: ...
    @property
    def tokens(self) -> int: ...
    @property
    def alternatives(self) -> tuple[Alternative, ...]: ...


def combine(layout: TextLayout, parts: Sequence[Part]) -> tuple[Alternative, ...]:
    """Combine the second-best of every part, the third-best, and so on; a part with fewer repeats its last one."""
    best = layout.join([part.text for part in parts])
    combined: dict[str, Alternative] = {}
    for rank in range(max((len(part.alternatives) for part in parts), default=0)):
        ranked = [(part.alternatives[: rank + 1] or (part,))[-1] for part in parts]
        score = mean((one.score, part.tokens) for one, part in zip(ranked, parts, strict=True))
        text = layout.join([each.text for each in ranked])
        if score is not None and text != best:
            combined.setdefault(text, Alternative(text, score))
    return tuple(combined.values())


def in_order(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    distinct = set(flags)
    return tuple(flag for flag in FLAGS if flag in distinct) if distinct else ()


def mean(scores: Iterable[tuple[float | None, int]]) -> float | None:
    """The weighted mean of the scores that are not None; None if there are no such scores."""
    known = [(score, weight) for score, weight in scores if score is not None]
    total = sum(weight for _, weight in known)
    return sum(score * weight for score, weight in known) / total if total else None


def shift(span: Sequence[int], by: int) -> tuple[int, int]:
    return span[0] + by, span[1] + by
