"""Glossaries: reading terms with their translations, and counting whether they appear in translations."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from hark.errors import UserError
from hark.text.detector import base_language
from hark.text.terms import Terms, is_inflected
from hark.userfiles import read_bytes

Entries = tuple[tuple[str, str], ...]
MAX_TERM_CHARS = 1_024
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
            if not each.strip() or len(each) > MAX_TERM_CHARS or _CONTROL.search(each):
                raise GlossaryError(f"entry {number}: a term must have 1 to {MAX_TERM_CHARS:,} printable characters")
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
        text = read_bytes(path).decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8 text; convert it") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


_DETERMINERS = {
    "de": r"d(?:er|ie|as|em|en|es)|(?:ein|kein|mein|dein|sein|ihr|unser|euer|eur)(?:e[mnrs]?)?|"
    r"(?:dies|jed|jen|welch|manch|solch)e[mnrs]?|[iav]m|vom|beim|ins|zu[mr]",
    "fr": r"le|la|une?|du|au|cet?|cette|[mts](?:on|a)|quel(?:le)?s?|aucune?|toute?s?|chacune?|certaine?s?",
    "es": r"el|l[ao]s?|un(?:[ao]s?)?|del|al|(?:est|es|nuestr|vuestr|otr|much|tod)[aeo]s?|aquel(?:l[ao]s?)?|ningun[ao]?",
    "it": r"il|lo|la|i|gli|le|un[ao]?|(?:d|n|a|da|su)?e?l(?:l[aoe])?|(?:de|ne|a|da|su)(?:i|gli)|"
    r"(?:quest|quell|mi|tu|su|nostr|vostr|tutt|altr)[aeio]",
    "nl": r"de|het|di[te]|dat|deze|onze?|elke?|welke?|geen",
    "pt": r"[oa]s?|uma?s?|uns|[dn][oa]s?|aos?|às?|pel[oa]s?|(?:est|ess|noss|voss|outr|tod)[aeo]s?|minhas?|meus?|"
    r"[ts]uas?|[ts]eus?|aquel[ae]s?",
}
"""Words whose form depends on the gender of the noun after them."""
_MAX_WORDS_BEFORE = 3
"""Words before a term among which its article is: adjectives may be between."""


@dataclass
class TermUse:
    """How often a term occurs in a text, and how often its translation has the term of the glossary."""

    source: str
    target: str
    found: int = 0
    held: int = 0
    missing: list[int] = field(default_factory=list)
    """The numbers of the segments, from 1, whose translation lacks the term."""
    check: list[int] = field(default_factory=list)
    """The numbers of the segments in which an article or the like stands before the term. The model chose its gender
    for a word of its own, so that it may be wrong: die Kaffeeautomat."""


def count_terms(terms: Terms, texts: Iterable[tuple[str, str]], language: str = "") -> list[TermUse]:
    """Count the terms in texts and in their translations, also inflected ones; in the order of the first occurrence.

    `language` is that of the translations, whose articles may have a gender.
    """
    determiners = _DETERMINERS.get(base_language(language))
    determiner = re.compile(determiners, re.IGNORECASE) if determiners else None
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
            places = list(_find(translation, target))
            held = min(count, count * len(places) // share)
            use.found += count
            use.held += held
            use.missing += [number] if held < count else []
            if determiner and any(_has_before(translation.casefold()[:place], determiner) for place in places):
                use.check.append(number)
    return list(uses.values())


def _has_before(text: str, determiner: re.Pattern[str]) -> bool:
    """Whether an article or the like is among the last words of a text."""
    clause = re.split(r"[^\w\s'’-]", text)[-1]
    return any(map(determiner.fullmatch, clause.split()[-_MAX_WORDS_BEFORE:]))


def _find(text: str, term: str) -> Iterator[int]:
    """Yield where a term is in a text, as whole words or with an ending."""
    place = 0
    lower, start = text.casefold(), term.casefold()
    while (place := lower.find(start, place)) >= 0:
        end = place + len(start)
        ending = _WORD.match(lower, end) if start[-1:].isalnum() else None
        words = lower[place : ending.end() if ending else end]
        begins = place == 0 or not (lower[place - 1].isalnum() and start[:1].isalnum())
        if begins and is_inflected(words, start):
            yield place
        place = end


def summarise(uses: Sequence[TermUse]) -> str:
    """One line about terms: `terms held: 14 of 15; check the article of 2`."""
    line = f"terms held: {sum(each.held for each in uses):,} of {sum(each.found for each in uses):,}"
    check = sum(len(each.check) for each in uses)
    return f"{line}; check the article of {check:,}" if check else line
