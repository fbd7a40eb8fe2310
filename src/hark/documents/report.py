"""Reports on translated documents: what became of each segment, and of the terms of a glossary."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from hark.documents.formats import SegmentOutcome
from hark.documents.glossary import TermUse, count_terms, summarise
from hark.documents.translate import TranslatedDocument
from hark.pages.document import document, page_style, visible
from hark.pages.formats import plural
from hark.text.terms import Terms

if TYPE_CHECKING:
    from hark.documents.memory import FuzzyMatch, Memory

SegmentState = Literal["translated", "kept", "memory"]
MAX_LISTED, MAX_TEXT_CHARS = 100, 1_000
"""Flagged segments in a summary, and characters of their texts."""
_STYLE = """
td, th { white-space: normal; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
td:first-child { white-space: nowrap; color: var(--soft); }
.flagged td:first-child { border-left: 3px solid var(--warn); padding-left: 8px; }
.warn { color: var(--warn); display: block; }
.kept, .similar { color: var(--soft); display: block; }
"""


@dataclass(frozen=True)
class DocumentReport:
    name: str
    segments: tuple[tuple[str, SegmentOutcome], ...]
    """The source text and the outcome of each segment."""
    terms: Sequence[TermUse] = ()
    similar: "dict[int, FuzzyMatch]" = field(default_factory=dict)
    """Similar texts of the memory, by the number of the segment, from 1."""

    @property
    def counts(self) -> Counter[str]:
        """The number of segments translated, kept, from the memory, and flagged."""
        counts = Counter[str](state_of(*each) for each in self.segments)
        counts["flagged"] = sum(bool(outcome.reasons) for _, outcome in self.segments)
        return counts

    @property
    def summary(self) -> str:
        """One line: `12 segments: 9 translated, 2 kept, 1 from memory; 1 flagged`."""
        counts = self.counts
        parts = [f"{counts['translated']:,} translated", f"{counts['kept']:,} kept"]
        parts += [f"{counts['memory']:,} from memory"] if counts["memory"] else []
        line = f"{plural(len(self.segments), 'segment')}: {', '.join(parts)}; {counts['flagged']:,} flagged"
        return f"{line}; {summarise(self.terms)}" if self.terms else line

    def warnings(self) -> Iterator[str]:
        """A line about each flagged segment."""
        for number, (source, outcome) in enumerate(self.segments, start=1):
            if outcome.reasons:
                text = _shorten(" ".join(source.split()), 40)
                yield f"segment {number} ({text}): {'; '.join(map(str, outcome.reasons))}"


def make_report(
    name: str, done: TranslatedDocument, terms: Terms | None, memory: "Memory | None", target: str = ""
) -> DocumentReport:
    """Make the report on a document in the target language.

    With a memory, similar texts are found for segments that are not in it.
    """
    segments = tuple((segment.text, outcome) for segment, outcome in zip(done.segments, done.outcomes, strict=True))
    uses = count_terms(terms, ((source, outcome.text) for source, outcome in segments), target) if terms else []
    found: dict[str, FuzzyMatch | None] = {}
    if memory is not None:
        texts = dict.fromkeys(each[0] for each in segments if state_of(*each) == "translated")
        found = {text: memory.similar(text) for text in texts}
    similar = {number: match for number, (text, _) in enumerate(segments, start=1) if (match := found.get(text))}
    return DocumentReport(name, segments, uses, similar)


def state_of(source: str, outcome: SegmentOutcome) -> SegmentState:
    """What became of a segment; one that the model or the reader left as it was is kept."""
    if outcome.origin == "memory":
        return "memory"
    return "kept" if outcome.text == source else "translated"


def to_json(reports: Sequence[DocumentReport]) -> str:
    return json.dumps({"format": 1, "documents": [_to_row(each) for each in reports]}, ensure_ascii=False, indent=1)


def _to_row(report: DocumentReport) -> dict[str, Any]:
    counts = report.counts
    return {
        "file": report.name,
        "segments": len(report.segments),
        **{name: counts[name] for name in ("translated", "kept", "memory", "flagged")},
        "terms": [
            {"source": each.source, "target": each.target, "found": each.found, "held": each.held}
            | ({"missing": each.missing} if each.missing else {})
            | ({"check": each.check} if each.check else {})
            for each in report.terms
        ],
        "list": [_segment_row(report, number) for number in range(1, len(report.segments) + 1)],
    }


def _segment_row(report: DocumentReport, number: int) -> dict[str, Any]:
    source, outcome = report.segments[number - 1]
    row: dict[str, Any] = {"source": source, "text": outcome.text, "state": state_of(source, outcome)}
    if outcome.reasons:
        row["warnings"] = [{"flag": each.flag, "detail": each.detail, "message": str(each)} for each in outcome.reasons]
    if (match := report.similar.get(number)) is not None:
        row["similar"] = {"source": match.source, "text": match.target, "similarity": match.similarity}
    return row


def to_summary(report: DocumentReport) -> dict[str, Any]:
    """The counts, and the flagged segments, as many and as much of them as a person wants to see."""
    counts = report.counts
    flagged = [
        {
            "number": number,
            "source": _shorten(source, MAX_TEXT_CHARS),
            "text": _shorten(outcome.text, MAX_TEXT_CHARS),
            "warnings": list(map(str, outcome.reasons)),
        }
        for number, (source, outcome) in enumerate(report.segments, start=1)
        if outcome.reasons
    ]
    return {
        "segments": len(report.segments),
        **{name: counts[name] for name in ("translated", "kept", "flagged")},
        "list": flagged[:MAX_LISTED],
    }


def _shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def to_html(reports: Sequence[DocumentReport]) -> str:
    """The reports as a self-contained page."""
    title = reports[0].name if len(reports) == 1 else plural(len(reports), "document")
    body = "".join(map(_section, reports))
    return document(
        f"{title} · hark translate",
        page_style(_STYLE),
        f'<main>\n<header><p class="over">Translation report</p>\n<h1>{visible(title)}</h1></header>\n{body}'
        "<footer>Made by <code>hark translate --report</code>.</footer>\n</main>\n",
    )


def _section(report: DocumentReport) -> str:
    rows = "".join(_row(report, number) for number in range(1, len(report.segments) + 1))
    terms = "".join(
        f"<tr><td>{escape(each.source)}</td><td>{escape(each.target)}</td><td>{each.held:,} of {each.found:,}</td>"
        f"<td>{', '.join(map(str, each.missing))}</td><td>{', '.join(map(str, each.check))}</td></tr>"
        for each in report.terms
    )
    terms_table = (
        "<table><tr><th>Term</th><th>Translation</th><th>Held</th><th>Missing in segment</th>"
        f"<th>Check the article in segment</th></tr>{terms}</table>\n"
    )
    return (
        f'<section><h2>{visible(report.name)}</h2>\n<p class="note">{escape(report.summary)}</p>\n'
        f"{terms_table if terms else ''}"
        f"<table><tr><th></th><th>Source</th><th>Translation</th></tr>{rows}</table></section>\n"
    )


def _row(report: DocumentReport, number: int) -> str:
    source, outcome = report.segments[number - 1]
    state = state_of(source, outcome)
    notes = "".join(f'<span class="warn">{visible(str(each))}</span>' for each in outcome.reasons)
    if state != "translated":
        notes += f'<span class="kept">{"kept as it is" if state == "kept" else "from the memory"}</span>'
    if (match := report.similar.get(number)) is not None:
        notes += (
            f'<span class="similar">{match.similarity:.0%} similar: {visible(match.source)} → '
            f"{visible(match.target)}</span>"
        )
    flagged = ' class="flagged"' if outcome.reasons else ""
    return f"<tr{flagged}><td>{number}</td><td>{visible(source)}</td><td>{visible(outcome.text)}{notes}</td></tr>\n"
