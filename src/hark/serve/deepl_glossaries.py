"""Glossaries of DeepL's API: one dictionary each in version 2, several in version 3.

Glossaries of clients: terms with their translations, stored as one JSON file each.
"""

import json
import os
import re
import secrets
from asyncio import to_thread
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from hark.atomic import sync_one
from hark.documents.glossary import Entries, GlossaryError, check_terms, read_entries
from hark.errors import warn_skipped
from hark.serve.bodies import Fields, Refusal, read_fields
from hark.serve.deepl_requests import base_pairs, owner, read_pair
from hark.serve.native import CompactJson
from hark.serve.service import Service
from hark.text.detector import base_language
from hark.text.terms import Terms

Pair = tuple[str, str]
GLOSSARIES, ENTRIES, LONGEST_NAME = 1_000, 100_000, 1_024
"""Maximum glossaries, entries of a glossary, and characters of a name."""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


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
        if len(self._all) >= GLOSSARIES:
            raise Refusal(456, f"there are {GLOSSARIES:,} glossaries; delete one first")
        digits = secrets.token_hex(16)
        number = "-".join(digits[start:end] for start, end in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
        created = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        return self._write(Glossary(number, check_name(name), owner, created, check_entries(dictionaries)))

    def list(self, owner: str) -> list[Glossary]:
        """The glossaries of an owner, oldest first."""
        return sorted((each for each in [*self._all.values()] if each.owner == owner), key=lambda each: each.created)

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
                self._known = {each.id: each for path in self._files() if (each := read_glossary(path))}
            return self._known

    def _files(self) -> tuple[Path, ...]:
        """The stored files; none if the folder cannot be read, as in the home of another user."""
        try:
            return tuple(each for each in self._folder.iterdir() if each.suffix == ".json")
        except OSError as error:
            warn_skipped(self._folder, error)
            return ()

    def _path(self, number: str) -> Path:
        assert _ID.fullmatch(number)  # ours, never a client's
        return self._folder / f"{number}.json"

    def _write(self, glossary: Glossary) -> Glossary:
        known = self._all
        path = self._path(glossary.id)
        partial = path.with_suffix(f".{secrets.token_hex(4)}.partial")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise Refusal(
                500, "the server has no folder for glossaries; set XDG_DATA_HOME to one that it can write to"
            ) from error
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
    if not name.strip() or len(name) > LONGEST_NAME:
        raise Refusal(400, f"name must have 1 to {LONGEST_NAME:,} characters")
    return name


def check_entries(dictionaries: Mapping[Pair, Entries]) -> Mapping[Pair, Entries]:
    """Refuse dictionaries that are empty, too large, or have invalid or repeated terms."""
    if sum(map(len, dictionaries.values())) > ENTRIES:
        raise Refusal(413, f"too many entries; the limit is {ENTRIES:,}")
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
    return {
        "format": 1,
        "id": glossary.id,
        "name": glossary.name,
        "owner": glossary.owner,
        "created": glossary.created,
        "dictionaries": dictionaries,
    }


def read_glossary(path: Path) -> Glossary | None:
    """Read a file; None if it is damaged or from a newer version: others must still be usable."""
    try:
        found = json.loads(path.read_bytes())
        if found["format"] != 1 or not _ID.fullmatch(found["id"]) or path.stem != found["id"]:
            return None
        dictionaries = {
            (str(each["source"]), str(each["target"])): tuple((str(term), str(text)) for term, text in each["entries"])
            for each in found["dictionaries"]
        }
        return Glossary(
            found["id"], str(found["name"]), str(found["owner"]), str(found["created"]), check_entries(dictionaries)
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, Refusal):
        return None


MOST_IDS = 5
TSV = "text/tab-separated-values"


async def find_terms(
    fields: Fields, glossaries: Glossaries, owner: str, source: str | None, target: str
) -> Terms | None:
    """The terms of the glossaries that a translation asks for."""
    several = ",".join(fields.texts("glossary_ids") or []).split(",")
    ids = [each.strip() for each in (fields.text("glossary_id") or "", *several) if each.strip()]
    if not ids:
        return None
    if source is None:
        raise Refusal(400, "Use of a glossary requires the source_lang parameter to be specified.")
    if len(ids) > MOST_IDS:
        raise Refusal(400, f"at most {MOST_IDS} glossaries can be used at a time")
    pair = base_language(source), base_language(target)
    dictionaries = [get_dictionary(glossaries.get(each, owner), pair) for each in ids]
    return await to_thread(as_terms, *dictionaries)


def routes(service: Service, glossaries: Glossaries) -> list[BaseRoute]:
    """The routes of glossaries."""

    def found(request: Request) -> Glossary:
        return glossaries.get(request.path_params["id"], owner(request))

    def found_one(request: Request) -> tuple[Glossary, Pair, Entries]:
        """A glossary with one dictionary, as version 2 knows it."""
        glossary = found(request)
        if len(glossary.dictionaries) != 1:
            raise Refusal(404, "this glossary does not have exactly one dictionary; use /v3/glossaries")
        [(pair, entries)] = glossary.dictionaries.items()
        return glossary, pair, entries

    async def pairs(request: Request) -> Response:
        await read_fields(request)
        listed = [{"source_lang": source, "target_lang": target} for source, target in base_pairs(service)]
        return CompactJson({"supported_languages": listed})

    async def create_one(request: Request) -> Response:
        fields = await read_fields(request)
        name = required(fields, "name")
        pair, entries = await to_thread(read_dictionary, fields, service)
        made = await to_thread(glossaries.create, name, owner(request), {pair: entries})
        return CompactJson(describe_one(made), 201)

    async def list_ones(request: Request) -> Response:
        await read_fields(request)
        ones = [each for each in glossaries.list(owner(request)) if len(each.dictionaries) == 1]
        return CompactJson({"glossaries": [describe_one(each) for each in ones]})

    async def get_one(request: Request) -> Response:
        await read_fields(request)
        return CompactJson(describe_one(found_one(request)[0]))

    async def get_one_entries(request: Request) -> Response:
        await read_fields(request)
        return PlainTextResponse(write_entries(found_one(request)[2]), media_type=TSV)

    async def delete(request: Request) -> Response:
        await read_fields(request)
        glossaries.delete(found(request))
        return Response(status_code=204)

    async def create(request: Request) -> Response:
        fields = await read_fields(request)
        dictionaries = await to_thread(read_dictionaries, fields, service)
        if not dictionaries:
            raise Refusal(400, "dictionaries is missing")
        made = await to_thread(glossaries.create, required(fields, "name"), owner(request), dictionaries)
        return CompactJson(describe(made), 201)

    async def list_all(request: Request) -> Response:
        await read_fields(request)
        return CompactJson({"glossaries": [describe(each) for each in glossaries.list(owner(request))]})

    async def get(request: Request) -> Response:
        await read_fields(request)
        return CompactJson(describe(found(request)))

    async def update(request: Request) -> Response:
        """Change the name, and add entries to dictionaries or replace those with the same source."""
        fields = await read_fields(request)
        glossary = found(request)
        changes = await to_thread(read_dictionaries, fields, service)
        merged = {
            pair: tuple({**dict(glossary.dictionaries.get(pair, ())), **dict(entries)}.items())
            for pair, entries in changes.items()
        }
        changed = await to_thread(glossaries.update, glossary, fields.text("name"), merged)
        return CompactJson(describe(changed))

    async def replace_dictionary(request: Request) -> Response:
        fields = await read_fields(request)
        pair, entries = await to_thread(read_dictionary, fields, service)
        await to_thread(glossaries.update, found(request), None, {pair: entries})
        return CompactJson(describe_dictionary(pair, entries))

    async def delete_dictionary(request: Request) -> Response:
        fields = await read_fields(request)
        glossaries.remove_dictionary(found(request), read_pair(fields, service))
        return Response(status_code=204)

    async def get_entries(request: Request) -> Response:
        fields = await read_fields(request)
        glossary, pair = found(request), read_pair(fields, service)
        entries = {"entries": write_entries(get_dictionary(glossary, pair)), "entries_format": "tsv"}
        return CompactJson({"dictionaries": [{"source_lang": pair[0], "target_lang": pair[1], **entries}]})

    return [
        Route("/v2/glossary-language-pairs", pairs),
        Route("/v2/glossaries", create_one, methods=["POST"]),
        Route("/v2/glossaries", list_ones),
        Route("/v2/glossaries/{id}", delete, methods=["DELETE"]),
        Route("/v2/glossaries/{id}", get_one),
        Route("/v2/glossaries/{id}/entries", get_one_entries),
        Route("/v3/glossaries", create, methods=["POST"]),
        Route("/v3/glossaries", list_all),
        Route("/v3/glossaries/{id}", update, methods=["PATCH"]),
        Route("/v3/glossaries/{id}", delete, methods=["DELETE"]),
        Route("/v3/glossaries/{id}", get),
        Route("/v3/glossaries/{id}/dictionaries", replace_dictionary, methods=["PUT"]),
        Route("/v3/glossaries/{id}/dictionaries", delete_dictionary, methods=["DELETE"]),
        Route("/v3/glossaries/{id}/entries", get_entries),
    ]


def required(fields: Fields, name: str) -> str:
    value = fields.text(name)
    if not value:
        raise Refusal(400, f"{name} is missing")
    return value


def read_dictionary(fields: Fields, service: Service) -> tuple[Pair, Entries]:
    pair = read_pair(fields, service)
    return pair, parse_entries(required(fields, "entries"), (fields.text("entries_format") or "tsv").lower())


def read_dictionaries(fields: Fields, service: Service) -> dict[Pair, Entries]:
    found = fields.value("dictionaries")
    if found is None:
        return {}
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Refusal(400, "dictionaries must be a list of objects")
    read = [read_dictionary(Fields({name: [value] for name, value in each.items()}), service) for each in found]
    if len(dict(read)) < len(read):
        raise Refusal(400, "dictionaries has two of the same languages")
    return dict(read)


def describe_one(glossary: Glossary) -> dict[str, Any]:
    """A glossary as version 2 shows it."""
    [(pair, entries)] = glossary.dictionaries.items()
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": True,
        "creation_time": glossary.created,
        **describe_dictionary(pair, entries),
    }


def describe(glossary: Glossary) -> dict[str, Any]:
    """A glossary as version 3 shows it."""
    dictionaries: Iterable[tuple[Pair, Entries]] = glossary.dictionaries.items()
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "dictionaries": [describe_dictionary(*each) for each in dictionaries],
        "creation_time": glossary.created,
    }


def describe_dictionary(pair: Pair, entries: Entries) -> dict[str, Any]:
    return {"source_lang": pair[0], "target_lang": pair[1], "entry_count": len(entries)}
