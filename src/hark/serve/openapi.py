"""The OpenAPI description of the native API, and of DeepL's."""

from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from hark import __version__
from hark.pages.document import read_asset
from hark.serve import deepl_spec
from hark.serve.native import EVENTS, CompactJson
from hark.serve.openapi_page import render
from hark.serve.runs import MOST_RUNS
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from hark.text.address import Formality

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
    404: "There is no such run, sample or checkpoint.",
    408: "The body came too slowly.",
    409: "The checkpoint is of a model that cannot show its attention.",
    413: "The text, the number of texts or the body is too large.",
    415: "The body is not JSON.",
    421: "The server does not answer for this host name; see --allowed-host.",
    429: "Too many requests of one client; see the header Retry-After.",
    500: "The engine failed; the request may be sent again.",
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
    several = {"type": "array", "items": name, "maxItems": MOST_RUNS}
    return {
        "/api/v1/runs": get("List training runs", "Runs"),
        "/api/v1/runs/watch": get(
            "Follow the list of runs, and the metrics and samples of some",
            None,
            [query("run", several, required=False)],
        ),
        "/api/v1/runs/{name}/metrics": get(
            "Follow the metrics and samples of a run", None, [{**query("name", name), "in": "path"}]
        ),
        "/api/v1/runs/attention": get(
            "Compute the cross-attention of a sample at a checkpoint",
            "Attention",
            [query("run", name), query("step", number), query("sentence", number)],
        ),
    }


def query(name: str, schema: Schema, required: bool = True) -> Schema:
    return {"name": name, "in": "query", "required": required, "schema": schema}


def post(summary: str, fields: Schema, required: list[str], answer: str, more: Schema | None = None) -> Schema:
    schema = {"type": "object", "properties": fields, "required": required}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    refusals = {status: meaning for status, meaning in REFUSALS.items() if status not in (404, 409)}
    return {"post": {"summary": summary, "requestBody": body, "responses": responses(answer, more, refusals)}}


def get(summary: str, answer: str | None, parameters: list[Schema] | None = None) -> Schema:
    """A GET. Without an answer, it is a stream of events."""
    statuses = (400, 403, 404, 409, 421, 429, 500, 503) if parameters else (403, 421, 429)
    refusals = {status: meaning for status, meaning in REFUSALS.items() if status in statuses}
    stream = None if answer else {EVENTS: {"schema": {"type": "string"}, "description": RUN_EVENTS}}
    operation = {"summary": summary, "responses": responses(answer, stream, refusals)}
    return {"get": operation | ({"parameters": parameters} if parameters else {})}


def responses(answer: str | None, more: Schema | None, refusals: dict[int, str]) -> Schema:
    content = {**({"application/json": {"schema": ref(answer)}} if answer else {}), **(more or {})}
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
                "formality": {"enum": ["formal", "informal", None], "description": "What the model was asked for."},
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
        "Language": record({"code": {"type": "string"}, "targets": STRINGS, "formality": STRINGS}),
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
        "Runs": record({"runs": list_of("Run")}),
        "Run": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "state": {"type": "string"}},
            "required": ["name", "state"],
            "description": "Further fields as in the list of hark runs.",
        },
        "Attention": record(
            {
                "step": OFFSET,
                "source": STRINGS,
                "target": STRINGS,
                "weights": {
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "number"}},
                    "description": "A row for each word of the target, a column for each of the source.",
                },
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
