"""What a translator gives: a text in the other language, and what happened on the way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from hark.decode.align import Link
from hark.decode.faults import FAULTS, Fault
from hark.decode.reasons import Reason
from hark.decode.reasons import in_order as order_reasons
from hark.text.segments import TextLayout

Care = Literal["copied", "phrase", "split", "tidied", "recased", "retried", "repaired", "untranslated"]
"""Nothing to translate in it; taken from the phrase table; translated in parts, because it was too long or went wrong
as a whole; what was typed in haste (dont, schoen) was mended first; translated in small letters and given its capitals
back; decoded again, because the first translation was faulty; something that the model had lost or changed was put
back; still empty after all tries, so the source stands in its place."""
Flag = Care | Fault
FLAGS: tuple[Flag, ...] = (
    "copied", "phrase", "split", "tidied", "recased", "retried", "repaired", "untranslated", *FAULTS,
)  # fmt: skip
"""In the order in which results name them. Those of `FAULTS` say that a translation is still not to be trusted."""


@dataclass(frozen=True)
class Alternative:
    """Another translation of the same."""

    text: str
    score: float


@dataclass(frozen=True)
class Sentence:
    """One sentence and its translation; `start` and `source_start` say where they stand in their texts."""

    source: str
    text: str
    score: float | None
    """Log-probability, divided by the length penalty; the mean by tokens where it was translated in parts. None where
    nothing was translated."""
    tokens: int
    """Of the translation, ends included: the weight of its score in a mean."""
    flags: tuple[Flag, ...] = ()
    reasons: tuple[Reason, ...] = ()
    """What is wrong with it, the worst first."""
    links: tuple[Link, ...] = ()
    """Which words stand for which, on request; positions in this sentence."""
    alternatives: tuple[Alternative, ...] = ()
    """Further translations, the better first, on request; only those without faults."""
    source_start: int = 0
    start: int = 0


@dataclass(frozen=True)
class Translation:
    """A text and its translation."""

    source: str
    text: str
    sentences: tuple[Sentence, ...]
    layout: TextLayout

    @property
    def score(self) -> float | None:
        """The mean of the sentences' scores, by tokens."""
        return mean((each.score, each.tokens) for each in self.sentences)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The flags of all sentences. `copied` only where nothing of the text was translated."""
        found = {flag for each in self.sentences for flag in each.flags}
        if any("copied" not in each.flags for each in self.sentences):
            found.discard("copied")
        return in_order(found)

    @property
    def doubtful(self) -> tuple[Flag, ...]:
        """The flags that warn."""
        return tuple(flag for flag in self.flags if flag in FAULTS)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What is wrong with it, the worst first."""
        return order_reasons(reason for each in self.sentences for reason in each.reasons)

    @property
    def links(self) -> tuple[Link, ...]:
        """Links between words, with positions in the whole texts."""
        return tuple(
            Link(shift(link.source, each.source_start), shift(link.target, each.start), link.weight)
            for each in self.sentences
            for link in each.links
        )

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Further translations of the text: the second of each sentence, the third of each, and so on."""
        return combine(self.layout, self.sentences)


class Part(Protocol):
    """What a translation is put together from."""

    @property
    def text(self) -> str: ...
    @property
    def score(self) -> float | None: ...
    @property
    def tokens(self) -> int: ...
    @property
    def alternatives(self) -> tuple[Alternative, ...]: ...


def combine(layout: TextLayout, parts: Sequence[Part]) -> tuple[Alternative, ...]:
    """The second of each part, the third of each, and so on; the last one that it has where it has fewer."""
    best = layout.join([part.text for part in parts])
    found: dict[str, Alternative] = {}
    for rank in range(max((len(part.alternatives) for part in parts), default=0)):
        ranked = [(part.alternatives[: rank + 1] or (part,))[-1] for part in parts]
        score = mean((one.score, part.tokens) for one, part in zip(ranked, parts, strict=True))
        text = layout.join([each.text for each in ranked])
        if score is not None and text != best:
            found.setdefault(text, Alternative(text, score))
    return tuple(found.values())


def in_order(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    found = set(flags)
    return tuple(flag for flag in FLAGS if flag in found) if found else ()


def mean(scores: Iterable[tuple[float | None, int]]) -> float | None:
    """The mean of scores by their weights; none where there is none."""
    known = [(score, weight) for score, weight in scores if score is not None]
    total = sum(weight for _, weight in known)
    return sum(score * weight for score, weight in known) / total if total else None


def shift(span: Sequence[int], by: int) -> tuple[int, int]:
    return span[0] + by, span[1] + by
