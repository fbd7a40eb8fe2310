"""Glossaries of clients: terms with their translations, stored as one JSON file each."""

import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import UUID

from hark.atomic import sync_one
from hark.documents.glossary import Entries, GlossaryError, check_terms, read_entries
from hark.errors import warn_skipped
from hark.serve.bodies import Refusal
from hark.text.terms import Terms

Pair = tuple[str, str]
MAX_GLOSSARIES = 1_000
MAX_ENTRIES = 100_000
"""Of a glossary."""
MAX_NAME_CHARS = 1_024
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
STORED = ("id", "name", "owner", "created")
"""The fields of a glossary before its dictionaries."""


@dataclass(frozen=True)
class Glossary:
    """A glossary: dictionaries of terms, one for each pair of languages."""

    id: str
    name: str
    owner: str
    """The name of the API key that created it; only that key may use it."""
    created: str
    dictionaries: Mapping[Pair, Entries]


class Glossaries:
    """The glossaries in a folder. Files are written completely or not at all. Any thread may call the methods."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, Glossary] | None = None
        self._lock = Lock()

    def create(self, name: str, owner: str, dictionaries: Mapping[Pair, Entries]) -> Glossary:
        if len(self._all) >= MAX_GLOSSARIES:
            raise Refusal(456, f"there are {MAX_GLOSSARIES:,} glossaries; delete one first")
        number = str(UUID(bytes=secrets.token_bytes(16)))
        created = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        return self._write(Glossary(number, check_name(name), owner, created, check_entries(dictionaries)))

    def list(self, owner: str) -> list[Glossary]:
        """The glossaries of an owner, oldest first."""
        own = [glossary for glossary in [*self._all.values()] if glossary.owner == owner]
        return sorted(own, key=lambda glossary: glossary.created)

    def get(self, number: str, owner: str) -> Glossary:
        """A glossary of an owner; one of somebody else does not exist."""
        found = self._all.get(number)
        if found is None or found.owner != owner:
            raise Refusal(404, "there is no such glossary")
        return found

    def update(self, glossary: Glossary, name: str | None, dictionaries: Mapping[Pair, Entries]) -> Glossary:
        """Change the name and replace these dictionaries."""
        merged = check_entries({**glossary.dictionaries, **dictionaries})
        return self._write(replace(glossary, name=check_name(name or glossary.name), dictionaries=merged))

    def remove_dictionary(self, glossary: Glossary, pair: Pair) -> Glossary:
        get_dictionary(glossary, pair)
        rest = {key: entries for key, entries in glossary.dictionaries.items() if key != pair}
        return self._write(replace(glossary, dictionaries=rest))

    def delete(self, glossary: Glossary) -> None:
        self._path(glossary.id).unlink(missing_ok=True)
        self._all.pop(glossary.id, None)

    @property
    def _all(self) -> dict[str, Glossary]:
        with self._lock:
            if self._known is None:
                try:
                    files = [path for path in self._folder.iterdir() if path.suffix == ".json"]
                except OSError as error:  # as in the home of another user
                    warn_skipped(self._folder, error)
                    files = []
                self._known = {found.id: found for path in files if (found := read_glossary(path))}
            return self._known

    def _path(self, number: str) -> Path:
        assert ID.fullmatch(number)  # ours, never a client's
        return self._folder / f"{number}.json"

    def _write(self, glossary: Glossary) -> Glossary:
        known = self._all
        path = self._path(glossary.id)
        partial = path.with_suffix(f".{secrets.token_hex(4)}.partial")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            problem = "the server has no folder for glossaries; set XDG_DATA_HOME to one that it can write to"
            raise Refusal(500, problem) from error
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(to_json(glossary), file, ensure_ascii=False)
            sync_one(partial)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
        known[glossary.id] = glossary
        return glossary


def get_dictionary(glossary: Glossary, pair: Pair) -> Entries:
    """The entries for a pair of languages."""
    entries = glossary.dictionaries.get(pair)
    if entries is None:
        raise Refusal(404, f"the glossary has no dictionary from {pair[0]} to {pair[1]}")
    return entries


@lru_cache(maxsize=64)
def as_terms(*dictionaries: Entries) -> Terms:
    """The terms of dictionaries; the first that has a term wins. Cached: large ones take long to prepare."""
    merged: dict[str, tuple[str, str]] = {}
    for entries in reversed(dictionaries):
        merged |= {source.casefold(): (source, target) for source, target in entries}
    return Terms(merged.values())


def parse_entries(text: str, kind: str) -> Entries:
    """Read entries in TSV or CSV: source and target; further columns are ignored in CSV."""
    if kind not in ("tsv", "csv"):
        raise Refusal(400, "entries_format must be tsv or csv")
    try:
        return read_entries(text, kind)
    except GlossaryError as error:
        raise Refusal(400, str(error)) from None


def write_entries(entries: Entries) -> str:
    return "\n".join(f"{source}\t{target}" for source, target in entries)


def check_name(name: str) -> str:
    if not name.strip() or len(name) > MAX_NAME_CHARS:
        raise Refusal(400, f"name must have 1 to {MAX_NAME_CHARS:,} characters")
    return name


def check_entries(dictionaries: Mapping[Pair, Entries]) -> Mapping[Pair, Entries]:
    """Refuse dictionaries that are empty, too large, or have invalid or repeated terms."""
    if sum(map(len, dictionaries.values())) > MAX_ENTRIES:
        raise Refusal(413, f"too many entries; the limit is {MAX_ENTRIES:,}")
    for (source, target), entries in dictionaries.items():
        if source == target:
            raise Refusal(400, "source_lang and target_lang must differ")
        if not entries:
            raise Refusal(400, "a dictionary needs at least one entry")
        try:
            check_terms(entries)
        except GlossaryError as error:
            raise Refusal(400, str(error)) from None
    return dictionaries


def to_json(glossary: Glossary) -> dict[str, Any]:
    dictionaries = [
        {"source": source, "target": target, "entries": entries}
        for (source, target), entries in glossary.dictionaries.items()
    ]
    return {"format": 1, **{name: getattr(glossary, name) for name in STORED}, "dictionaries": dictionaries}


def read_glossary(path: Path) -> Glossary | None:
    """Read a file; None if it is damaged or from a newer version: others must still be usable."""
    try:
        found = json.loads(path.read_bytes())
        if found["format"] != 1 or not ID.fullmatch(found["id"]) or path.stem != found["id"]:
            return None
        dictionaries = {}
        for dictionary in found["dictionaries"]:
            entries = tuple((str(term), str(text)) for term, text in dictionary["entries"])
            dictionaries[str(dictionary["source"]), str(dictionary["target"])] = entries
        number, name, owner, created = (str(found[field]) for field in STORED)
        return Glossary(number, name, owner, created, check_entries(dictionaries))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, Refusal):
        return None
