"""The OpenAPI description of the native API, and of DeepL's, and a page without scripts that shows it."""

import json
from collections.abc import Collection, Sequence
from html import escape
from typing import get_args

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from hark import __version__
from hark.pages.document import read_asset
from hark.serve import deepl_spec
from hark.serve.bodies import CompactJson
from hark.serve.look import MAX_CHANGES, MAX_CHARS
from hark.serve.native import EVENTS
from hark.serve.runs import MAX_RUNS
from hark.serve.schemas import (
    COUNT,
    REFUSALS,
    STRING,
    STRINGS,
    TEXT,
    Schema,
    body,
    in_path,
    items,
    json_content,
    query,
    record,
    ref,
    refusals,
)
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from hark.text.address import Formality

INTRODUCTION = (
    "Translation on this machine. Offsets and lengths are in Unicode code points. Scores are log-probabilities, "
    "normalised by length: closer to 0 is better. Texts must not contain NUL."
)
SCORE: Schema = {"type": ["number", "null"], "description": "null if nothing was translated."}
SPAN: Schema = {"type": "array", "items": COUNT, "minItems": 2, "maxItems": 2}
MEANINGS = {
    **REFUSALS,
    404: "There is no such run, sample or checkpoint.",
    409: "The checkpoint is of a model that cannot show its attention.",
    415: "The body is not JSON.",
    501: "The server lacks an optional package.",
    503: "The queue is full, or the server is shutting down; see the header Retry-After.",
}
RUN_EVENTS = (
    "Events, without end: runs, the list, when it changes; for each run first history, with its curves, then records, "
    "with what is new; samples, by sentence; gone, if it cannot be read any more."
)


def describe(settings: ServeSettings) -> Schema:
    """The whole description, with the limits of this server."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hark", "version": __version__, "description": INTRODUCTION},
        "servers": [{"url": settings.root_path or "/"}],
        "paths": paths(settings) | deepl_spec.paths(settings),
        "components": {
            "schemas": schemas() | deepl_spec.schemas(),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        **({"security": [{"key": []}]} if settings.api_keys is not None else {}),
    }


def paths(settings: ServeSettings) -> Schema:
    texts = {"type": "array", "items": TEXT, "maxItems": settings.batch}
    several = {"oneOf": [TEXT, texts], "description": f"At most {settings.characters:,} characters in all."}
    source = {"type": ["string", "null"], "description": "Language of the text, such as en; null: detect it."}
    target = {"type": "string", "minLength": 1, "description": "Language to translate to, such as de."}
    flags = {
        "align": "Return the word alignment.",
        "split": "Split lines into sentences; by default true.",
        "join": "Join the lines of hard-wrapped paragraphs; by default true.",
        "protect": "Keep addresses, placeholders, tags and numbers with units unchanged; by default true.",
        "bulk": "Nobody waits for this: translate it after other requests.",
        "stream": "Answer with server-sent events.",
    }
    translate = {
        "text": several,
        "source": source,
        "target": target,
        "nbest": {"type": "integer", "minimum": 1, "maximum": settings.nbest, "description": "Translations per text."},
        "formality": {
            "enum": [*get_args(Formality)],
            "description": "Address the reader formally (Sie, vous) or informally (du, tu), in the languages listed "
            "under formality by /api/v1/languages; auto, the default, chooses one form for each text.",
        },
        "context": {**TEXT, "description": "What the texts are parts of: formality auto chooses one form for all."},
        **{name: {"type": "boolean", "description": meaning} for name, meaning in flags.items()},
    }
    look = {
        "text": {**TEXT, "minLength": 1, "maxLength": MAX_CHARS},
        "source": source,
        "target": target,
        "changes": {
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_CHANGES,
            "description": "Heads and words to remove.",
        },
    }
    stream = {
        "schema": STRING,
        "description": "Events: sentence, with index (of the text), sentence, of (the number of sentences) and the "
        "fields of a Sentence, in any order; text, with index and the fields of a Translation; done; error.",
    }
    return {
        "/api/v1/translate": post("Translate texts", translate, ["text", "target"], "Translations", {EVENTS: stream}),
        "/api/v1/detect": post("Detect languages", {"text": several}, ["text"], "Detections"),
        "/api/v1/look": post("Record the attention of a sentence", look, ["text", "target"], "Look"),
        "/api/v1/languages": get("List languages", "Languages"),
        "/api/v1/models": get("List models", "Models"),
        **(run_paths() if settings.runs is not None else {}),
    }


def run_paths() -> Schema:
    """The addresses of training runs, which only a server with a folder of runs has."""
    name: Schema = {"type": "string", "minLength": 1, "description": "The name of a run in the list."}
    number: Schema = {"type": "integer", "minimum": 0, "maximum": 10**12 - 1}
    several = query("run", {"type": "array", "items": name, "maxItems": MAX_RUNS}, required=False)
    sample = [query("run", name), query("step", number), query("sentence", number)]
    return {
        "/api/v1/runs": get("List training runs", "Runs"),
        "/api/v1/runs/watch": get("Follow the list of runs, and the metrics and samples of some", None, [several]),
        "/api/v1/runs/{name}/metrics": get("Follow the metrics and samples of a run", None, [in_path("name", name)]),
        "/api/v1/runs/attention": get("Compute the cross-attention of a sample at a checkpoint", "Attention", sample),
    }


def post(summary: str, fields: Schema, required: Sequence[str], answer: str, more: Schema | None = None) -> Schema:
    """A POST; `more` is the content of the answer in other types than JSON."""
    content = {**json_content(ref(answer)), **(more or {})}
    statuses = MEANINGS.keys() - {404, 409}
    return {
        "post": {"summary": summary, "requestBody": body(fields, *required), "responses": responses(content, statuses)}
    }


def get(summary: str, answer: str | None, parameters: Sequence[Schema] = ()) -> Schema:
    """A GET. Without an answer, it is a stream of events."""
    content = json_content(ref(answer)) if answer else {EVENTS: {"schema": STRING, "description": RUN_EVENTS}}
    statuses = {400, 403, 404, 409, 421, 429, 500, 503} if parameters else {403, 421, 429}
    operation = {"summary": summary, "responses": responses(content, statuses)}
    return {"get": operation | ({"parameters": [*parameters]} if parameters else {})}


def responses(content: Schema, statuses: Collection[int]) -> Schema:
    refused = {status: MEANINGS[status] for status in sorted(statuses)}
    return {"200": {"description": "OK", "content": content}, **refusals(refused, "Error")}


def schemas() -> Schema:
    link = {
        "type": "array",
        "prefixItems": [SPAN, SPAN, {"type": "number"}],
        "description": "Spans of a source word and of a word of the translation, in the sentence, and the weight.",
    }
    common = {"score": SCORE, "flags": STRINGS, "warnings": STRINGS, "alternatives": items(ref("Alternative"))}
    translation = {
        "text": STRING,
        "source": STRING,
        "target": STRING,
        "model": STRING,
        "formality": {"enum": ["formal", "informal", None], "description": "What the model was asked for."},
        "sentences": items(ref("Sentence")),
        **common,
    }
    sentence = {
        "source": STRING,
        "text": STRING,
        "source_start": {**COUNT, "description": "Where it starts in the text."},
        "start": {**COUNT, "description": "Where it starts in the translation; null in events."},
        "links": items(link),
        **common,
    }
    model = {
        "name": STRING,
        "pairs": items(STRINGS),
        "summary": STRING,
        "size": {"type": "integer"},
        "loaded": {"type": "boolean"},
    }
    text_model = {
        "name": STRING,
        "shape": {"enum": ["decoder", "encoder"], "description": "A decoder continues text, an encoder embeds it."},
        "positions": {"type": ["integer", "null"], "description": "How many tokens it can read; null: any number."},
        "summary": STRING,
    }
    weights = {
        **items(items({"type": "number"})),
        "description": "A row for each word of the target, a column for each of the source.",
    }
    head = {"type": "object", "description": "What the page of hark look shows."}
    run = record({"name": STRING, "state": STRING})
    return {
        "Translations": record({"translations": items(ref("Translation"))}),
        "Translation": record(translation),
        "Sentence": record(sentence),
        "Alternative": record({"text": STRING, "score": SCORE}),
        "Detections": record({"detections": items(items(ref("Detection")))}),
        "Detection": record({"language": STRING, "confidence": {"type": "number"}}),
        "Languages": record({"languages": items(ref("Language"))}),
        "Language": record({"code": STRING, "targets": STRINGS, "formality": STRINGS}),
        "Models": record({"models": items(ref("Model")), "texts": items(ref("TextModel"))}),
        "Model": record(model),
        "TextModel": record(text_model),
        "Runs": record({"runs": items(ref("Run"))}),
        "Run": {**run, "description": "Further fields as in the list of hark runs."},
        "Attention": record({"step": COUNT, "source": STRINGS, "target": STRINGS, "weights": weights}),
        "Look": record({"head": head, "blocks": {**STRING, "description": "Base64 of its compressed arrays."}}),
        "Error": record({"error": record({"message": STRING, "status": {"type": "integer"}})}),
    }


def routes(service: Service, settings: ServeSettings) -> list[Route]:  # noqa: ARG001
    description = describe(settings)
    page = render(description)
    style = read_asset("hark.serve", "docs.css")

    async def openapi(_: Request) -> Response:
        return CompactJson(description)

    async def docs(_: Request) -> Response:
        return HTMLResponse(page)

    async def docs_style(_: Request) -> Response:
        return Response(style, media_type="text/css")

    return [Route("/api/v1/openapi.json", openapi), Route("/docs", docs), Route("/docs/docs.css", docs_style)]


def render(description: Schema) -> str:
    shown = "".join(
        f"<section><h2><b>{method.upper()}</b> <code>{escape(path)}</code></h2><p>{escape(operation['summary'])}.</p>"
        f"{fields_table(operation)}{answers_table(operation)}</section>"
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    )
    types = "".join(
        f'<h3 id="{name}">{name}</h3><pre>{escape(json.dumps(schema, indent=1))}</pre>'
        for name, schema in description["components"]["schemas"].items()
    )
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Hark: API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="stylesheet" href="docs/docs.css">'
        f"<main><h1>Hark: API</h1><p>{escape(description['info']['description'])}</p>"
        '<p>The description for programs: <a href="api/v1/openapi.json">openapi.json</a>.</p>'
        f"{shown}<section><h2>Types</h2>{types}</section></main></html>\n"
    )


def fields_table(operation: Schema) -> str:
    """The fields of the body, or the parameters of a GET."""
    fields = {
        parameter["name"]: (parameter["schema"], parameter["required"]) for parameter in operation.get("parameters", ())
    }
    if "requestBody" in operation:
        [content] = operation["requestBody"]["content"].values()
        schema = content["schema"]
        fields |= {name: (field, name in schema["required"]) for name, field in schema["properties"].items()}
    if not fields:
        return ""
    rows = "".join(
        f"<tr><td><code>{name}</code>{' *' if required else ''}</td><td>{kind_of(field)}</td>"
        f"<td>{escape(field.get('description', ''))}</td></tr>"
        for name, (field, required) in fields.items()
    )
    return f"<table><tr><th>field</th><th>type</th><th></th></tr>{rows}</table><p>* required</p>"


def answers_table(operation: Schema) -> str:
    rows = "".join(
        f"<tr><td>{status}</td><td>{escape(answer['description'])}</td><td>{answer_type(answer)}</td></tr>"
        for status, answer in operation["responses"].items()
    )
    return f"<table><tr><th>status</th><th></th><th>answer</th></tr>{rows}</table>"


def kind_of(field: Schema) -> str:
    if "enum" in field:
        return escape(" or ".join(field["enum"]))
    if "oneOf" in field:
        return " or ".join(kind_of(kind) for kind in field["oneOf"])
    if field.get("type") == "array":
        return "list of " + kind_of(field["items"])
    kind = field.get("type", "")
    return escape(" or ".join(kind) if isinstance(kind, list) else kind)


def answer_type(answer: Schema) -> str:
    if "application/json" not in answer.get("content", {}):
        [kind] = answer.get("content", {"nothing": {}})
        return "events" if kind == EVENTS else escape(kind)
    name = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return f'<a href="#{name}">{name}</a>'
