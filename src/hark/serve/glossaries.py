"""Glossaries of DeepL's API: one dictionary each in version 2, several in version 3; stored as one JSON file each."""

import json
import os
import re
import secrets
from asyncio import to_thread
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import UUID

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hark.atomic import sync_one
from hark.documents.glossary import Entries, GlossaryError, check_terms, read_entries
from hark.errors import warn_skipped
from hark.serve.bodies import CompactJson, Fields, Refusal, read_fields
from hark.serve.service import Service
from hark.text.detector import base_language
from hark.text.terms import Terms

Pair = tuple[str, str]
MAX_GLOSSARIES = 1_000
MAX_IDS = 5
"""Glossaries for one translation."""
MAX_ENTRIES = 100_000
"""Of a glossary."""
MAX_NAME_CHARS = 1_024
TSV = "text/tab-separated-values"
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
        """A glossary of an owner; that of another owner counts as missing."""
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


async def find_terms(
    fields: Fields, glossaries: Glossaries, owner: str, source: str | None, target: str
) -> Terms | None:
    """The terms of the glossaries that a translation asks for."""
    several = ",".join(fields.texts("glossary_ids") or []).split(",")
    ids = [number.strip() for number in (fields.text("glossary_id") or "", *several) if number.strip()]
    if not ids:
        return None
    if source is None:
        raise Refusal(400, "Use of a glossary requires the source_lang parameter to be specified.")
    if len(ids) > MAX_IDS:
        raise Refusal(400, f"at most {MAX_IDS} glossaries can be used at a time")
    pair = base_language(source), base_language(target)
    dictionaries = [get_dictionary(glossaries.get(number, owner), pair) for number in ids]
    return await to_thread(as_terms, *dictionaries)


def glossary_routes(service: Service, glossaries: Glossaries) -> list[Route]:

    async def find(request: Request) -> tuple[Fields, Glossary]:
        fields = await read_fields(request)
        return fields, glossaries.get(request.path_params["id"], owner(request))

    async def find_one(request: Request) -> Glossary:
        """A glossary with one dictionary, as version 2 knows it."""
        _, glossary = await find(request)
        if len(glossary.dictionaries) != 1:
            raise Refusal(404, "this glossary does not have exactly one dictionary; use /v3/glossaries")
        return glossary

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
        own = glossaries.list(owner(request))
        return CompactJson({"glossaries": [describe_one(found) for found in own if len(found.dictionaries) == 1]})

    async def get_one(request: Request) -> Response:
        return CompactJson(describe_one(await find_one(request)))

    async def get_one_entries(request: Request) -> Response:
        [entries] = (await find_one(request)).dictionaries.values()
        return PlainTextResponse(write_entries(entries), media_type=TSV)

    async def delete(request: Request) -> Response:
        _, glossary = await find(request)
        glossaries.delete(glossary)
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
        return CompactJson({"glossaries": [describe(glossary) for glossary in glossaries.list(owner(request))]})

    async def get(request: Request) -> Response:
        _, glossary = await find(request)
        return CompactJson(describe(glossary))

    async def update(request: Request) -> Response:
        """Change the name, and add entries to dictionaries or replace those with the same source."""
        fields, glossary = await find(request)
        changes = await to_thread(read_dictionaries, fields, service)
        merged = {
            pair: tuple({**dict(glossary.dictionaries.get(pair, ())), **dict(entries)}.items())
            for pair, entries in changes.items()
        }
        changed = await to_thread(glossaries.update, glossary, fields.text("name"), merged)
        return CompactJson(describe(changed))

    async def replace_dictionary(request: Request) -> Response:
        pair, entries = await to_thread(read_dictionary, await read_fields(request), service)
        glossary = glossaries.get(request.path_params["id"], owner(request))
        await to_thread(glossaries.update, glossary, None, {pair: entries})
        return CompactJson(describe_dictionary(pair, entries))

    async def delete_dictionary(request: Request) -> Response:
        fields, glossary = await find(request)
        glossaries.remove_dictionary(glossary, read_pair(fields, service))
        return Response(status_code=204)

    async def get_entries(request: Request) -> Response:
        fields, glossary = await find(request)
        pair = read_pair(fields, service)
        written = {"entries": write_entries(get_dictionary(glossary, pair)), "entries_format": "tsv"}
        return CompactJson({"dictionaries": [{"source_lang": pair[0], "target_lang": pair[1], **written}]})

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
    if not isinstance(found, list) or not all(isinstance(dictionary, dict) for dictionary in found):
        raise Refusal(400, "dictionaries must be a list of objects")
    read = [read_dictionary(Fields.of(dictionary), service) for dictionary in found]
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
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "dictionaries": [describe_dictionary(pair, entries) for pair, entries in glossary.dictionaries.items()],
        "creation_time": glossary.created,
    }


def describe_dictionary(pair: Pair, entries: Entries) -> dict[str, Any]:
    return {"source_lang": pair[0], "target_lang": pair[1], "entry_count": len(entries)}


def owner(request: Request) -> str:
    """Whose glossaries, documents and usage a request means: those of its API key; without keys, everybody's."""
    return str(getattr(request.state, "key", ""))


def read_pair(fields: Fields, service: Service) -> tuple[str, str]:
    """The pair of languages of a dictionary, without regions."""
    source, target = fields.text("source_lang"), fields.text("target_lang")
    if not source or not target:
        raise Refusal(400, "source_lang and target_lang are required")
    pair = base_language(source), base_language(target)
    if pair not in base_pairs(service):
        raise Refusal(400, f"{pair[0][:20]} to {pair[1][:20]} is not supported")
    return pair


def base_pairs(service: Service) -> list[tuple[str, str]]:
    return list(dict.fromkeys((base_language(source), base_language(target)) for source, target in service.pairs()))
