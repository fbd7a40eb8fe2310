"""The OpenAPI description of the native API, and a page that shows it."""

import json
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from hark import __version__
from hark.pages.document import read_asset
from hark.serve.native import CompactJson
from hark.serve.service import Service
from hark.serve.settings import ServeSettings

Schema = dict[str, Any]
INTRODUCTION = (
    "Translation on this machine. Offsets and lengths are in Unicode code points. Scores are log-probabilities, "
    "normalised by length: closer to 0 is better. Texts must not contain NUL."
)
TEXT: Schema = {"type": "string", "pattern": "^[^\\x00]*$"}
OFFSET: Schema = {"type": "integer", "minimum": 0}
SCORE: Schema = {"type": ["number", "null"], "description": "null if nothing was translated."}
STRINGS: Schema = {"type": "array", "items": {"type": "string"}}
SPAN: Schema = {"type": "array", "items": OFFSET, "minItems": 2, "maxItems": 2}
REFUSALS = {
    400: "The request is invalid; the message says why.",
    403: "The API key is missing or invalid.",
    408: "The body came too slowly.",
    413: "The text, the number of texts or the body is too large.",
    415: "The body is not JSON.",
    429: "Too many requests of one client; see the header Retry-After.",
    500: "The engine failed; the request may be sent again.",
    501: "The server lacks an optional package.",
    503: "The queue is full, or the server is shutting down; see the header Retry-After.",
}


def describe(settings: ServeSettings) -> Schema:
    """The whole description, with the limits of this server."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hark", "version": __version__, "description": INTRODUCTION},
        "servers": [{"url": settings.root_path or "/"}],
        "paths": paths(settings),
        "components": {"schemas": schemas(), "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
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
        "stream": "Answer with server-sent events.",
    }
    translate = {
        "text": several,
        "source": source,
        "target": target,
        "nbest": {"type": "integer", "minimum": 1, "maximum": settings.nbest, "description": "Translations per text."},
        **{name: {"type": "boolean", "description": meaning} for name, meaning in flags.items()},
    }
    look = {
        "text": {**TEXT, "minLength": 1, "maxLength": 1000},
        "source": source,
        "target": target,
        "changes": {"type": "integer", "minimum": 0, "maximum": 6, "description": "Heads and words to remove."},
    }
    stream = {
        "schema": {"type": "string"},
        "description": "Events: sentence, with index (of the text), sentence, of (the number of sentences) and the "
        "fields of a Sentence, in any order; text, with index and the fields of a Translation; done; error.",
    }
    return {
        "/api/v1/translate": post(
            "Translate texts", translate, ["text", "target"], "Translations", {"text/event-stream": stream}
        ),
        "/api/v1/detect": post("Detect languages", {"text": several}, ["text"], "Detections"),
        "/api/v1/look": post("Record the attention of a sentence", look, ["text", "target"], "Look"),
        "/api/v1/languages": get("List languages", "Languages"),
        "/api/v1/models": get("List models", "Models"),
    }


def post(summary: str, fields: Schema, required: list[str], answer: str, more: Schema | None = None) -> Schema:
    schema = {"type": "object", "properties": fields, "required": required}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    return {"post": {"summary": summary, "requestBody": body, "responses": responses(answer, more, REFUSALS)}}


def get(summary: str, answer: str) -> Schema:
    refusals = {status: meaning for status, meaning in REFUSALS.items() if status in (403, 429)}
    return {"get": {"summary": summary, "responses": responses(answer, None, refusals)}}


def responses(answer: str, more: Schema | None, refusals: dict[int, str]) -> Schema:
    content = {"application/json": {"schema": ref(answer)}, **(more or {})}
    error = {"application/json": {"schema": ref("Error")}}
    refused = {str(status): {"description": meaning, "content": error} for status, meaning in refusals.items()}
    return {"200": {"description": "OK", "content": content}, **refused}


def schemas() -> Schema:
    link = {
        "type": "array",
        "prefixItems": [SPAN, SPAN, {"type": "number"}],
        "description": "Spans of a source word and of a word of the translation, in the sentence, and the weight.",
    }
    common = {"score": SCORE, "flags": STRINGS, "warnings": STRINGS, "alternatives": list_of("Alternative")}
    return {
        "Translations": record({"translations": list_of("Translation")}),
        "Translation": record(
            {
                "text": {"type": "string"},
                "source": {"type": "string"},
                "target": {"type": "string"},
                "model": {"type": "string"},
                "sentences": list_of("Sentence"),
                **common,
            }
        ),
        "Sentence": record(
            {
                "source": {"type": "string"},
                "text": {"type": "string"},
                "source_start": {**OFFSET, "description": "Where it starts in the text."},
                "start": {**OFFSET, "description": "Where it starts in the translation; null in events."},
                "links": {"type": "array", "items": link},
                **common,
            }
        ),
        "Alternative": record({"text": {"type": "string"}, "score": SCORE}),
        "Detections": record({"detections": {"type": "array", "items": list_of("Detection")}}),
        "Detection": record({"language": {"type": "string"}, "confidence": {"type": "number"}}),
        "Languages": record({"languages": list_of("Language")}),
        "Language": record({"code": {"type": "string"}, "targets": STRINGS}),
        "Models": record({"models": list_of("Model")}),
        "Model": record(
            {
                "name": {"type": "string"},
                "pairs": {"type": "array", "items": STRINGS},
                "summary": {"type": "string"},
                "size": {"type": "integer"},
                "loaded": {"type": "boolean"},
            }
        ),
        "Look": record(
            {
                "head": {"type": "object", "description": "What the page of hark look shows."},
                "blocks": {"type": "string", "description": "Base64 of its compressed arrays."},
            }
        ),
        "Error": record({"error": record({"message": {"type": "string"}, "status": {"type": "integer"}})}),
    }


def record(fields: Schema) -> Schema:
    return {"type": "object", "properties": fields, "required": list(fields)}


def list_of(name: str) -> Schema:
    return {"type": "array", "items": ref(name)}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def routes(service: Service, settings: ServeSettings) -> list[BaseRoute]:  # noqa: ARG001
    """The description, and the page that shows it."""
    description = describe(settings)
    page = render(description)
    style = read_asset("hark.serve", "docs.css")

    async def openapi(_: Request) -> Response:
        return CompactJson(description)

    async def docs(_: Request) -> Response:
        return HTMLResponse(page)

    async def docs_style(_: Request) -> Response:
        return Response(style, media_type="text/css")

    return [
        Route("/api/v1/openapi.json", openapi),
        Route("/docs", docs),
        Route("/docs/docs.css", docs_style),
    ]


def render(description: Schema) -> str:
    """A page that shows a description, without any script."""
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
        f"<main><h1>Hark: API</h1><p>{escape(INTRODUCTION)}</p>"
        '<p>The description for programs: <a href="api/v1/openapi.json">openapi.json</a>.</p>'
        f"{shown}<section><h2>Types</h2>{types}</section></main></html>\n"
    )


def fields_table(operation: Schema) -> str:
    if "requestBody" not in operation:
        return ""
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    rows = "".join(
        f"<tr><td><code>{name}</code>{' *' if name in schema['required'] else ''}</td><td>{kind_of(field)}</td>"
        f"<td>{escape(field.get('description', ''))}</td></tr>"
        for name, field in schema["properties"].items()
    )
    return f"<table><tr><th>field</th><th>type</th><th></th></tr>{rows}</table><p>* required</p>"


def answers_table(operation: Schema) -> str:
    rows = "".join(
        f"<tr><td>{status}</td><td>{escape(answer['description'])}</td><td>{answer_type(answer)}</td></tr>"
        for status, answer in operation["responses"].items()
    )
    return f"<table><tr><th>status</th><th></th><th>answer</th></tr>{rows}</table>"


def kind_of(field: Schema) -> str:
    if "oneOf" in field:
        return " or ".join(kind_of(each) for each in field["oneOf"])
    if field.get("type") == "array":
        return "list of " + kind_of(field["items"])
    kind = field.get("type", "")
    return escape(" or ".join(kind) if isinstance(kind, list) else kind)


def answer_type(answer: Schema) -> str:
    name = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    return f'<a href="#{name}">{name}</a>'
