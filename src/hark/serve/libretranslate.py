"""The API of LibreTranslate: /translate, /detect, /languages, files, and the errors that its clients know."""

import asyncio
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hark.documents.formats import FORMATS
from hark.documents.markup_tokens import MarkupRules
from hark.serve.bodies import CompactJson, Fields, Refusal, answer_patiently, read_fields, refuse_with
from hark.serve.libretranslate_spec import describe
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from hark.serve.translating import TextOptions, TranslatedText, read_formality, translate_texts
from hark.serve.uploads import (
    Uploads,
    attachment,
    output_type,
    read_file,
    summarise_file,
    translate_file,
    translated_name,
)
from hark.text.language_names import language_name

ID_CHARS = 32
"""Of the random part of a download's name."""


def refuse(refusal: Refusal) -> Response:
    return refuse_with(refusal, {"error": refusal.message})


def routes(service: Service, settings: ServeSettings) -> list[Route]:
    """The routes of this API. Keys are checked here, because they are in the body."""
    uploads = Uploads()

    async def read(request: Request) -> Fields:
        fields = await read_fields(request)
        service.admission.admit(request, fields.text("api_key"))
        return fields

    async def translate(request: Request) -> Response:
        fields = await read(request)
        texts = fields.texts("q") or []
        several = len(texts) != 1 or isinstance(fields.value("q"), list)
        if not texts or (not several and not texts[0]):
            raise missing("q")
        check_size(texts, settings)
        options = read_text_options(fields, settings)
        answers = [answer(done, options) for done in await translate_texts(service, texts, options)]
        if not several:
            return CompactJson(answers[0])
        # Lists of values, not a list of answers.
        return CompactJson({name: [found[name] for found in answers] for name in answers[0]})

    async def detect(request: Request) -> Response:
        fields = await read(request)
        text = fields.text("q")
        if not text:
            raise missing("q")
        check_size([text], settings)
        found = await service.detect(text) or [(code, 0.0) for code in service.languages()[:1]]
        return CompactJson([language(code, share) for code, share in found])

    async def languages(request: Request) -> Response:
        await read_fields(request)  # some clients send a form with this GET
        pairs, listed = service.pairs(), []
        for code in service.languages():
            targets = {target for source, target in pairs if source == code} | {code}
            listed.append({"code": code, "name": language_name(code), "targets": sorted(targets)})
        return CompactJson(listed)

    async def translate_whole_file(request: Request) -> Response:
        fields = await read(request)
        file = fields.file("file")
        if file is None:
            raise missing("file")
        name = file.filename or ""
        suffix = output_type(name)
        source, target = read_languages(fields)
        formality, content = read_formality(fields), await file.read()
        job = await read_file(service, uploads, content, name, suffix, source, target, formality)

        async def work() -> dict[str, Any]:
            try:
                done = await translate_file(service, job)
            finally:
                uploads.remove(job.stored.id)
            result = uploads.add(done.content, translated_name(job.stored.name, target, suffix))
            url = str(request.url_for("download_file", name=quote(f"{result.id}_{result.name}")))
            return {"translatedFileUrl": url, "report": await asyncio.to_thread(summarise_file, done)}

        return await answer_patiently(work(), settings.patience_seconds)

    async def download_file(request: Request) -> Response:
        """No key is needed: the random name is the secret."""
        stored = uploads.find(request.path_params["name"][:ID_CHARS])
        if stored is None:
            raise Refusal(404, "there is no such file: it was downloaded, or is older than an hour")
        content = stored.path.read_bytes()
        if request.method == "GET":
            uploads.remove(stored.id)
        return Response(content, headers=attachment(stored.name), media_type="application/octet-stream")

    async def frontend_settings(_: Request) -> Response:
        source, target = service.pairs()[0]
        sides = {"source": source, "target": target}
        values = {
            "apiKeys": service.admission.needs_keys,
            "charLimit": settings.characters,
            "filesTranslation": True,
            "frontendTimeout": 500,
            "keyRequired": service.admission.needs_keys,
            "language": {side: {"code": code, "name": language_name(code)} for side, code in sides.items()},
            "suggestions": False,
            "supportedFilesFormat": list(FORMATS),
        }
        return CompactJson(values)

    async def suggest(request: Request) -> Response:
        await read(request)
        raise Refusal(403, "Suggestions are disabled on this server.")

    async def health(_: Request) -> Response:
        return CompactJson({"status": "ok"})

    async def spec(_: Request) -> Response:
        return CompactJson(describe(settings, service.languages()))

    return [
        Route("/translate", translate, methods=["POST"]),
        Route("/detect", detect, methods=["POST"]),
        Route("/languages", languages),
        Route("/translate_file", translate_whole_file, methods=["POST"]),
        Route("/download_file/{name}", download_file, name="download_file"),
        Route("/frontend/settings", frontend_settings),
        Route("/suggest", suggest, methods=["POST"]),
        Route("/health", health),
        Route("/spec", spec),
    ]


def missing(name: str) -> Refusal:
    return Refusal(400, f"Invalid request: missing {name} parameter")


def check_size(texts: list[str], settings: ServeSettings) -> None:
    """Refuse too much text in the words of LibreTranslate, with which its clients tell users what to do."""
    if len(texts) > settings.batch:
        raise Refusal(400, f"Invalid request: request ({len(texts)}) exceeds batch limit ({settings.batch})")
    size = sum(map(len, texts))
    if size > settings.characters:
        raise Refusal(400, f"Invalid request: request ({size}) exceeds text limit ({settings.characters})")


def read_languages(fields: Fields) -> tuple[str | None, str]:
    source, target = fields.text("source"), fields.text("target")
    if not source:
        raise missing("source")
    if not target:
        raise missing("target")
    return None if source == "auto" else source, target


def read_text_options(fields: Fields, settings: ServeSettings) -> TextOptions:
    source, target = read_languages(fields)
    kind = fields.text("format") or "text"
    if kind not in ("text", "html"):
        raise Refusal(400, f"{kind} format is not supported")
    others = min(max(0, fields.number("alternatives", 0)), settings.nbest - 1)
    html = MarkupRules() if kind == "html" else None
    return TextOptions(source, target, html, 1 if html else 1 + others, formality=read_formality(fields))


def answer(done: TranslatedText, options: TextOptions) -> dict[str, Any]:
    found: dict[str, Any] = {"translatedText": done.text, **done.notes.fields()}
    if options.source is None:
        found["detectedLanguage"] = language(done.source, done.confidence)
    if options.nbest > 1:
        found["alternatives"] = list(done.alternatives)
    return found


def language(code: str, share: float) -> dict[str, Any]:
    """A detected language; the confidence is in percent."""
    return {"confidence": round(100 * share, 1), "language": code}
