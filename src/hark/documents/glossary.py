"""Glossaries: reading terms with their translations, and counting whether they appear in translations."""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from hark.errors import UserError
from hark.text.terms import Terms, is_inflected

Entries = tuple[tuple[str, str], ...]
LONGEST_TERM = 1_024
"""Maximum characters of a term."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_WORD = re.compile(r"\w+")


class GlossaryError(UserError):
    """A glossary that cannot be read. The message is one line and names the entry."""


def read_entries(text: str, kind: str) -> Entries:
    """Read entries in TSV or CSV: source and target; further columns are ignored in CSV."""
    if kind == "tsv":
        rows = [line.split("\t") for line in re.split(r"\r\n|\r|\n", text)]
    else:
        try:
            rows = list(csv.reader(StringIO(text, newline=""), strict=True))
        except csv.Error as error:
            raise GlossaryError(f"the CSV is invalid: {error}") from None
    entries: list[tuple[str, str]] = []
    for number, row in enumerate(rows, start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) < 2 or (kind == "tsv" and len(cells) > 2):
            raise GlossaryError(f"entry {number}: expected a source and a target term")
        entries.append((cells[0], cells[1]))
    return tuple(entries)


def check_terms(entries: Entries) -> None:
    """Raise an error if a term is empty, too long, not printable, or there twice."""
    seen: set[str] = set()
    for number, (term, translation) in enumerate(entries, start=1):
        for each in (term, translation):
            if not each.strip() or len(each) > LONGEST_TERM or _CONTROL.search(each):
                raise GlossaryError(f"entry {number}: a term must have 1 to {LONGEST_TERM:,} printable characters")
        if term in seen:
            raise GlossaryError(f"entry {number}: the source term is there twice")
        seen.add(term)


def read_glossary_files(glossary: Path | None, kept: Path | None) -> Terms | None:
    """Read a glossary in TSV or CSV, and a list of terms that are not translated, one on each line."""
    entries: Entries = ()
    if glossary is not None:
        kind = glossary.suffix.lower().removeprefix(".")
        if kind not in ("tsv", "csv"):
            raise GlossaryError(f"{glossary}: a glossary must be a .tsv or .csv file")
        try:
            entries = read_entries(_read_text(glossary), kind)
            check_terms(entries)
        except GlossaryError as error:
            raise GlossaryError(f"{glossary}: {error}") from None
    lines = [] if kept is None else [line.strip() for line in _read_text(kept).splitlines()]
    terms = Terms(entries, filter(None, lines))
    return terms if terms else None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text; convert it") from None


@dataclass
class TermUse:
    """How often a term occurs in a text, and how often its translation has the term of the glossary."""

    source: str
    target: str
    found: int = 0
    held: int = 0
    missing: list[int] = field(default_factory=list)
    """The numbers of the segments, from 1, whose translation lacks the term."""


def count_terms(terms: Terms, texts: Iterable[tuple[str, str]]) -> list[TermUse]:
    """Count the terms in texts and in their translations, also inflected ones; in the order of the first occurrence."""
    uses: dict[tuple[str, str], TermUse] = {}
    for number, (text, translation) in enumerate(texts, start=1):
        wanted: dict[tuple[str, str], int] = {}
        for (start, end), target in terms.find(text):
            key = " ".join(text[start:end].split()).casefold(), target
            wanted[key] = wanted.get(key, 0) + 1
        for (source, target), count in wanted.items():
            use = uses.setdefault((source, target), TermUse(source, target))
            # Another term may have the same translation.
            share = sum(times for (_, other), times in wanted.items() if other == target)
            held = min(count, count * _count(translation, target) // share)
            use.found += count
            use.held += held
            use.missing += [number] if held < count else []
    return list(uses.values())


def _count(text: str, term: str) -> int:
    """The number of times a term is in a text, as whole words or with an ending."""
    found, place = 0, 0
    lower, start = text.casefold(), term.casefold()
    while (place := lower.find(start, place)) >= 0:
        end = place + len(start)
        ending = _WORD.match(lower, end) if start[-1:].isalnum() else None
        words = lower[place : ending.end() if ending else end]
        begins = place == 0 or not (lower[place - 1].isalnum() and start[:1].isalnum())
        found += begins and is_inflected(words, start)
        place = end
    return found


def summarise(uses: Sequence[TermUse]) -> str:
    """One line about terms: `terms held: 14 of 15`."""
    return f"terms held: {sum(each.held for each in uses):,} of {sum(each.found for each in uses):,}"
