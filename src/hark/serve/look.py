"""The attention of a sentence, for the head views of the page: POST /api/v1/look. Needs torch."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hark.errors import HarkError, MissingExtraError, UserError, require
from hark.serve.bodies import CompactJson, Refusal, read_json
from hark.serve.native import languages_of
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from hark.serve.shelf import ModelChoice
from hark.translate.load import Loaded

MAX_WAITING = 4
"""Requests that wait for the one that is being recorded: each takes about a second."""
MAX_CHANGES = 6
MAX_CHARS = 1000
"""Of the sentence."""


def routes(service: Service, settings: ServeSettings) -> list[Route]:  # noqa: ARG001
    recorder = ThreadPoolExecutor(1, "hark look")
    choice = ModelChoice(service.shelf)
    waiting = 0

    async def look(request: Request) -> Response:
        nonlocal waiting
        fields = await read_json(request)
        text, (source, target) = fields.text("text"), languages_of(fields)
        changes = fields.number("changes", 0)
        if not text or not text.strip():
            raise Refusal(400, "text is missing")
        if len(text) > MAX_CHARS:
            raise Refusal(413, f"{len(text):,} characters are too many; the limit is {MAX_CHARS:,}")
        if not 0 <= changes <= MAX_CHANGES:
            raise Refusal(400, f"changes must be 0 to {MAX_CHANGES}, not {changes}")
        try:
            require("torch", "train", "looking inside")
        except MissingExtraError as error:
            raise Refusal(501, str(error)) from None
        chosen = await choice.choose(text, source, target)
        if waiting > MAX_WAITING:
            raise Refusal(503, "too many requests are waiting; try again", 5)
        waiting += 1
        try:
            async with service.shelf.lease(chosen.model) as running:
                given = running.loaded, text, chosen.source, chosen.target or target, changes
                return CompactJson(await asyncio.get_running_loop().run_in_executor(recorder, record, *given))
        finally:
            waiting -= 1

    return [Route("/api/v1/look", look, methods=["POST"])]


def record(loaded: Loaded, text: str, source: str | None, target: str, changes: int) -> dict[str, Any]:
    """Translate the first sentence of a text once more and record it: `head` describes it, `blocks` has its arrays."""
    from hark.inspect.look import look_at
    from hark.inspect.page import pack_recording

    try:
        several = loaded.languages.several
        recording, effects = look_at(loaded, text, changes, source if several else None, target if several else None)
    except UserError as error:
        raise Refusal(400, str(error)) from error
    except HarkError as error:
        raise Refusal(500, str(error)) from error
    head, pack = pack_recording(recording, loaded.target_vocabulary, effects)
    return {"head": head, "blocks": pack.text}
