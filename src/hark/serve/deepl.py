"""The API of DeepL: /v2/translate, /v2/document, /v2/languages, /v2/usage; its glossaries are a module of their own."""

import asyncio
import hmac
import secrets
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hark.documents.markup_tokens import MarkupRules
from hark.models import data_folder, matches
from hark.serve.bodies import CompactJson, Fields, Refusal, answer_patiently, read_fields, refuse_with
from hark.serve.glossaries import Glossaries, find_terms, glossary_routes, owner
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from hark.serve.translating import TextOptions, translate_texts
from hark.serve.uploads import (
    StoredFile,
    Uploads,
    attachment,
    output_type,
    read_file,
    translate_file,
    translated_name,
)
from hark.text.address import Formality
from hark.text.detector import base_language
from hark.text.language_names import language_name

UNLIMITED = 1_000_000_000_000
"""The limit that DeepL reports for unlimited use."""
VARIANTS = {
    "en": {"EN-GB": "English (British)", "EN-US": "English (American)"},
    "pt": {"PT-BR": "Portuguese (Brazilian)", "PT-PT": "Portuguese (European)"},
}
"""Target languages that DeepL's clients refuse without a region."""
REFUSED = ("style_id", "translation_memory_id")
"""Parameters that would change the translation in a way that a client counts on."""
FORMALITIES = ("default", "more", "less", "prefer_more", "prefer_less")
MODEL_TYPES = ("latency_optimized", "quality_optimized", "prefer_quality_optimized")
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def refuse(refusal: Refusal) -> Response:
    return refuse_with(refusal, {"message": refusal.message})


def routes(service: Service, settings: ServeSettings) -> list[Route]:
    glossaries = Glossaries((settings.state or data_folder() / "serve") / "glossaries")
    used: Counter[str] = Counter()

    async def translate(request: Request) -> Response:
        fields = await read_fields(request)
        texts = fields.texts("text")
        if not texts:
            raise Refusal(400, "Parameter 'text' not specified.")
        for name in REFUSED:
            if name in fields:
                raise Refusal(400, f"{name} is not supported by this server")
        source, target = read_languages(fields, service)
        formality = read_formality(fields, service, source, target)
        split = split_mode(fields)
        terms = await find_terms(fields, glossaries, owner(request), source, target)
        model = model_type(fields)
        rules = markup_rules(fields, split)
        options = TextOptions(source, target, rules, split=split != "0", terms=terms, formality=formality)
        if options.markup is None and split == "nonewlines":
            texts = [" ".join(text.splitlines()) for text in texts]

        async def work() -> dict[str, Any]:
            done = await translate_texts(service, texts, options)
            used[owner(request)] += sum(map(len, texts))
            translations = [
                {
                    "detected_source_language": base_language(translated.source).upper(),
                    "text": translated.text,
                    "billed_characters": len(text),
                    **model,
                    **translated.notes.fields(),
                }
                for text, translated in zip(texts, done, strict=True)
            ]
            return {"translations": translations}

        return await answer_patiently(work(), settings.patience_seconds)

    async def languages(request: Request) -> Response:
        kind = (await read_fields(request)).text("type") or "source"
        if kind not in ("source", "target"):
            raise Refusal(400, "type must be source or target")
        codes = {pair[kind == "target"] for pair in service.pairs()}
        return CompactJson(list_sources(codes) if kind == "source" else list_targets(codes, service.formal_targets()))

    async def usage(request: Request) -> Response:
        await read_fields(request)
        return CompactJson({"character_count": used[owner(request)], "character_limit": UNLIMITED})

    async def unknown(request: Request) -> Response:
        raise Refusal(404, f"this server has no {request.method} {request.url.path}")

    return [
        Route("/v2/translate", translate, methods=["POST"]),
        Route("/v2/languages", languages, methods=["GET", "POST"]),
        Route("/v2/usage", usage, methods=["GET", "POST"]),
        *document_routes(service, settings, glossaries, used),
        *glossary_routes(service, glossaries),
        Route("/v2/{rest:path}", unknown, methods=METHODS),
        Route("/v3/{rest:path}", unknown, methods=METHODS),
    ]


def list_sources(codes: Iterable[str]) -> list[dict[str, Any]]:
    bases = sorted({base_language(code) for code in codes})
    return [{"language": code.upper(), "name": language_name(code)} for code in bases]


def list_targets(codes: Iterable[str], formal: Collection[str]) -> list[dict[str, Any]]:
    found: dict[str, str] = {}
    able = {base_language(code) for code in formal}
    for code in sorted(codes):
        regions = VARIANTS.get(base_language(code)) or {code.upper(): language_name(code)}
        found |= {code.upper(): regions[code.upper()]} if code.upper() in regions else regions
    return [
        {"language": code, "name": name, "supports_formality": base_language(code) in able}
        for code, name in found.items()
    ]


def model_type(fields: Fields) -> dict[str, str]:
    """The field that says which type of model was used, if the client chose one: each direction has one model, which
    serves all types."""
    kind = fields.text("model_type")
    if not kind:
        return {}
    if kind not in MODEL_TYPES:
        raise Refusal(400, f"model_type must be {' or '.join(MODEL_TYPES)}")
    return {"model_type_used": kind.removeprefix("prefer_")}


def split_mode(fields: Fields) -> str:
    """How to split sentences: 0, 1 or nonewlines."""
    value = fields.value("split_sentences")
    if value is None:
        return "nonewlines" if fields.text("tag_handling") == "html" else "1"
    mode = str(int(value)) if isinstance(value, int) else value
    if mode not in ("0", "1", "nonewlines"):
        raise Refusal(400, "split_sentences must be 0, 1 or nonewlines")
    return str(mode)


def markup_rules(fields: Fields, split: str) -> MarkupRules | None:
    kind = fields.text("tag_handling")
    if not kind:
        return None
    if kind not in ("html", "xml"):
        raise Refusal(400, "tag_handling must be xml or html")
    html = kind == "html"
    return MarkupRules(
        html,
        tag_names(fields, "ignore_tags", html),
        tag_names(fields, "splitting_tags", html),
        tag_names(fields, "non_splitting_tags", html),
        fields.flag("outline_detection", True),
        collapse=html or split == "nonewlines",
    )


def read_languages(fields: Fields, service: Service) -> tuple[str | None, str]:
    """The languages of a translation in the codes of the service; None: detect the source."""
    target = fields.text("target_lang")
    if not target:
        raise Refusal(400, "Parameter 'target_lang' not specified.")
    source = fields.text("source_lang")
    codes = service.languages()
    return read_code("source_lang", source, codes) if source else None, read_code("target_lang", target, codes)


def read_code(name: str, code: str, known: tuple[str, ...]) -> str:
    """The service's code of a language: `en` for EN-US. `name` is the field, which DeepL's clients look for in the
    message if it is unknown."""
    exact = next((offered for offered in known if offered.lower() == code.lower()), None)
    found = exact or next((offered for offered in known if matches(code, offered)), None)
    if found is None:
        raise Refusal(400, f"{name} {code[:20]} is not supported")
    return found


def read_formality(fields: Fields, service: Service, source: str | None, target: str) -> Formality:
    """The form of address. Refuse what the models cannot do, as DeepL does for languages without such forms."""
    value = (fields.text("formality") or "default").lower()
    if value not in FORMALITIES:
        raise Refusal(400, f"formality must be {', '.join(FORMALITIES[:-1])} or {FORMALITIES[-1]}")
    if value == "default":
        return "auto"
    if not service.offers_formality(source, target):
        if value.startswith("prefer_"):
            return "auto"
        words = f"Target language {target.upper()} does not support formality {value}"
        raise Refusal(400, f"{words}; prefer_{value} is accepted, and ignored")
    return "formal" if value.endswith("more") else "informal"


def tag_names(fields: Fields, name: str, html: bool) -> frozenset[str]:
    """Names of tags: a list, or names with commas between them."""
    names = ",".join(fields.texts(name) or []).split(",")
    return frozenset(tag.strip().lower() if html else tag.strip() for tag in names) - {""}


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


def document_routes(
    service: Service, settings: ServeSettings, glossaries: Glossaries, used: Counter[str]
) -> list[Route]:
    """Upload, status, and the translated file, once; `used` counts characters by owner."""
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
        """The document of a request. A document of another owner, or with another key, counts as missing."""
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
