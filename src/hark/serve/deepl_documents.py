"""Documents of DeepL's API: upload, status, and the translated file, once."""

import asyncio
import hmac
import secrets
from collections import Counter
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hark.serve.bodies import Fields, Refusal, read_fields
from hark.serve.deepl_glossaries import find_terms
from hark.serve.deepl_requests import owner, read_formality, read_languages
from hark.serve.glossaries import Glossaries
from hark.serve.native import CompactJson
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from hark.serve.uploads import (
    StoredFile,
    Uploads,
    attachment,
    output_type,
    read_file,
    translate_file,
    translated_name,
)
from hark.text.detector import base_language


@dataclass(eq=False)
class DocumentTask:
    """The translation of a document."""

    key: str
    owner: str
    stored: StoredFile
    target: str
    suffix: str
    """The type of the translated file."""
    characters: int
    task: "asyncio.Task[None]"
    """Replaces the stored file by its translation."""


def routes(service: Service, settings: ServeSettings, glossaries: Glossaries, used: Counter[str]) -> list[Route]:
    """The routes of documents; `used` counts characters by owner."""
    uploads = Uploads()
    documents: dict[str, DocumentTask] = {}

    def forget_expired() -> None:
        for number in [number for number in documents if uploads.find(number) is None]:
            documents.pop(number).task.cancel()

    async def upload(request: Request) -> Response:
        fields = await read_fields(request)
        file = fields.file("file")
        if file is None:
            raise Refusal(400, "Parameter 'file' not specified.")
        name = file.filename or fields.text("filename") or ""
        suffix = output_type(name, fields.text("output_format") or None)
        source, target = read_languages(fields, service)
        formality = read_formality(fields, service, source, target)
        terms = await find_terms(fields, glossaries, owner(request), source, target)
        forget_expired()
        same = source is not None and base_language(source) == base_language(target)
        known, content = None if same else source, await file.read()
        job = await read_file(service, uploads, content, name, suffix, known, target, formality, terms)
        stored = job.stored
        if source is None and job.written_in is not None:
            same = base_language(job.written_in) == base_language(target)

        async def work() -> None:
            if same:
                raise Refusal(400, f"Source and target language are the same ({target.upper()})")
            stored.path.write_bytes((await translate_file(service, job)).content)

        task = asyncio.create_task(work())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, if nobody asks
        size = 0 if same else job.characters
        document = DocumentTask(secrets.token_hex(32).upper(), owner(request), stored, target, suffix, size, task)
        documents[stored.id] = document
        used[document.owner] += size
        return CompactJson({"document_id": stored.id, "document_key": document.key})

    def find(request: Request, fields: Fields) -> DocumentTask:
        """The document of a request. One of somebody else, or with another key, does not exist."""
        forget_expired()
        found = documents.get(request.path_params["id"])
        key = (fields.text("document_key") or "").encode()
        if found is None or found.owner != owner(request) or not hmac.compare_digest(found.key.encode(), key):
            raise Refusal(404, "there is no such document: it was downloaded, or is older than an hour")
        return found

    async def status(request: Request) -> Response:
        """The client asks every five seconds, so waiting for the end here saves it that time."""
        document = find(request, await read_fields(request))
        await asyncio.wait([document.task], timeout=settings.patience_seconds)
        return CompactJson({"document_id": document.stored.id, **progress(document)})

    async def result(request: Request) -> Response:
        document = find(request, await read_fields(request))
        if not document.task.done():
            raise Refusal(503, "Document translation is not done", 5)
        document.task.result()  # raises its error
        content = document.stored.path.read_bytes()
        uploads.remove(document.stored.id)
        forget_expired()
        name = translated_name(document.stored.name, document.target, document.suffix)
        return Response(content, headers=attachment(name), media_type="application/octet-stream")

    return [
        Route("/v2/document", upload, methods=["POST"]),
        Route("/v2/document/{id}", status, methods=["GET", "POST"]),
        Route("/v2/document/{id}/result", result, methods=["GET", "POST"]),
    ]


def progress(document: DocumentTask) -> dict[str, Any]:
    task = document.task
    if not task.done():
        # A guess for progress bars: about 10,000 characters a second.
        return {"status": "translating", "seconds_remaining": 1 + document.characters // 10_000}
    if task.cancelled() or (error := task.exception()) is not None:
        reason = error.message if not task.cancelled() and isinstance(error, Refusal) else "the translation failed"
        return {"status": "error", "error_message": reason}
    return {"status": "done", "billed_characters": document.characters}
