"""Glossaries of DeepL's API: one dictionary each in version 2, several in version 3."""

from asyncio import to_thread
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from hark.documents.glossary import Entries
from hark.serve.bodies import Fields, Refusal, read_fields
from hark.serve.deepl_requests import base_pairs, owner, read_pair
from hark.serve.glossaries import Glossaries, Glossary, Pair, as_terms, get_dictionary, parse_entries, write_entries
from hark.serve.native import CompactJson
from hark.serve.service import Service
from hark.text.detector import base_language
from hark.text.terms import Terms

MAX_IDS = 5
"""Glossaries for one translation."""
TSV = "text/tab-separated-values"


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


def routes(service: Service, glossaries: Glossaries) -> list[Route]:

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
