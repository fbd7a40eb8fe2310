"""The native API, /api/v1: translations with sentences, scores, word links and alternatives; as JSON or as events."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from hark.models import InstalledModel
from hark.serve.bodies import CompactJson, Fields, Refusal, compact, read_json
from hark.serve.service import Event, Job, Service, Translated
from hark.serve.settings import ServeSettings
from hark.serve.texts import settings_of
from hark.serve.translating import read_formality
from hark.translate.translation import Alternative, Sentence

EVENTS = "text/event-stream"


def routes(service: Service, settings: ServeSettings) -> list[Route]:

    async def translate(request: Request) -> Response:
        fields = await read_json(request)
        texts = fields.texts("text")
        if texts is None:
            raise Refusal(400, "text is missing")
        job = Job(
            tuple(texts),
            *languages_of(fields),
            fields.number("nbest", 1),
            fields.flag("align"),
            urgent=not fields.flag("bulk"),
            split=fields.flag("split", True),
            join=fields.flag("join", True),
            protect=fields.flag("protect", True),
            formality=read_formality(fields),
        )
        if (context := fields.text("context")) is not None:
            form = await asyncio.to_thread(service.choose_form, [context], job.formality, job.source, job.target)
            job = replace(job, formality=form)
        if fields.flag("stream") or EVENTS in request.headers.get("accept", ""):
            service.check(job)  # before the status is sent
            return StreamingResponse(events(service, job), media_type=EVENTS)
        return CompactJson({"translations": [translation(done) for done in await service.translate(job)]})

    async def detect(request: Request) -> Response:
        texts = (await read_json(request)).texts("text")
        if texts is None:
            raise Refusal(400, "text is missing")
        if len(texts) > settings.batch or sum(map(len, texts)) > settings.characters:
            raise Refusal(413, f"the limits are {settings.batch:,} texts and {settings.characters:,} characters")
        found = [await service.detect(text) for text in texts]
        return CompactJson({"detections": [[language(*best) for best in ranked] for ranked in found]})

    async def languages(_: Request) -> Response:
        pairs = service.pairs()
        listed = []
        for code in service.languages():
            targets = sorted({target for source, target in pairs if source == code})
            formal = [target for target in targets if service.offers_formality(code, target)]
            listed.append({"code": code, "targets": targets, "formality": formal})
        return CompactJson({"languages": listed})

    async def models(_: Request) -> Response:
        running = {model.name for model in service.shelf.running}
        listed = [
            {
                "name": model.name,
                "pairs": model.pairs,
                "summary": model.summary,
                "size": model.size,
                "loaded": model.name in running,
            }
            for model in service.shelf.offered
        ]
        return CompactJson({"models": listed, "texts": [text_model(each) for each in service.shelf.texts.values()]})

    return [
        Route("/api/v1/translate", translate, methods=["POST"]),
        Route("/api/v1/detect", detect, methods=["POST"]),
        Route("/api/v1/languages", languages),
        Route("/api/v1/models", models),
    ]


def text_model(model: InstalledModel) -> dict[str, Any]:
    """A model of one stack, and how many tokens it can read."""
    settings = settings_of(model.folder)
    positions = None if settings.positions == "none" else settings.max_positions
    return {"name": model.name, "shape": settings.shape, "positions": positions, "summary": model.summary}


def languages_of(fields: Fields) -> tuple[str | None, str]:
    """The fields source, which may be missing or null, and target."""
    target = fields.text("target")
    if not target:
        raise Refusal(400, "target is missing")
    return fields.text("source") or None, target


async def events(service: Service, job: Job) -> AsyncIterator[bytes]:
    """The results of a job as server-sent events."""
    try:
        async for event in service.stream(job):
            yield sse(*event_data(event))
    except Refusal as refusal:
        yield sse("error", {"error": refusal.message})
    else:
        yield sse("done", {})


def event_data(event: Event) -> tuple[str, dict[str, Any]]:
    if isinstance(event.result, Translated):
        return "text", {"index": event.text, **translation(event.result)}
    place = {"index": event.text, "sentence": event.sentence, "of": event.of}
    # Where a sentence starts in the translation is not known before those before it are finished.
    return "sentence", {**place, **sentence(event.result), "start": None}


def sse(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {compact(data)}\n\n".encode()


def translation(done: Translated) -> dict[str, Any]:
    result = done.translation
    return {
        "text": result.text,
        "source": done.source,
        "target": done.target,
        "model": done.model,
        "formality": result.formality,
        "score": rounded(result.score),
        "flags": result.flags,
        "warnings": [str(reason) for reason in result.reasons],
        "sentences": [sentence(part) for part in result.sentences],
        "alternatives": [alternative(other) for other in result.alternatives],
    }


def sentence(part: Sentence) -> dict[str, Any]:
    return {
        "source": part.source,
        "text": part.text,
        "source_start": part.source_start,
        "start": part.start,
        "score": rounded(part.score),
        "flags": part.flags,
        "warnings": [str(reason) for reason in part.reasons],
        "links": [[link.source, link.target, link.weight] for link in part.links],
        "alternatives": [alternative(other) for other in part.alternatives],
    }


def alternative(other: Alternative) -> dict[str, Any]:
    return {"text": other.text, "score": rounded(other.score)}


def language(code: str, confidence: float) -> dict[str, Any]:
    return {"language": code, "confidence": round(confidence, 4)}


def rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)
