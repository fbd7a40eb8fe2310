"""What became of a segment: its translation, where it came from, and warnings."""

from dataclasses import dataclass
from typing import Any, Literal, Self

from hark.documents.document import SegmentTranslation
from hark.translate.align import Link
from hark.translate.faults import Reason
from hark.translate.translation import Translation

Origin = Literal["model", "memory"]
SegmentKey = tuple[str, bool]
"""The text of a segment, and whether it is tagged. Segments with the same key are translated once."""


@dataclass(frozen=True)
class SegmentOutcome:
    """The translation of a segment."""

    text: str
    links: tuple[Link, ...] = ()
    origin: Origin = "model"
    reasons: tuple[Reason, ...] = ()
    """Warnings, worst first."""

    @classmethod
    def of_model(cls, translation: Translation) -> Self:
        return cls(translation.text, translation.links, reasons=translation.reasons)

    @property
    def placed(self) -> SegmentTranslation:
        """What the writer of the document needs."""
        return SegmentTranslation(self.text, self.links)

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON; the reverse of `from_json`."""
        return {
            "text": self.text,
            "links": [[*each.source, *each.target, each.weight] for each in self.links],
            "origin": self.origin,
            "reasons": [[each.flag, each.detail] for each in self.reasons],
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Self:
        return cls(
            row["text"],
            tuple(_link(*each) for each in row["links"]),
            row["origin"],
            tuple(Reason(flag, detail) for flag, detail in row["reasons"]),
        )


def _link(*numbers: float) -> Link:
    start, end, target_start, target_end = map(int, numbers[:4])
    return Link((start, end), (target_start, target_end), numbers[4])
