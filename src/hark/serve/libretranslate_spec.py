"""The OpenAPI description of LibreTranslate's API, as far as it is offered, at /spec."""

from collections.abc import Sequence
from typing import get_args

from hark.documents.formats import FORMATS
from hark.serve.schemas import STRING, STRINGS, Schema, items, json_content, record
from hark.serve.settings import ServeSettings
from hark.text.address import Formality

LANGUAGE = {"type": "object", "properties": {"confidence": {"type": "number"}, "language": STRING}}
FLAGGED = {"number": {"type": "integer"}, "source": STRING, "text": STRING, "warnings": STRINGS}
REPORT = {
    "type": "object",
    "description": "What became of the segments of the file, and a list of those to check; only hark sends it.",
    "properties": {
        **{name: {"type": "integer"} for name in ("segments", "translated", "kept", "flagged")},
        "list": items({"type": "object", "properties": FLAGGED}),
    },
}
WARNINGS = "What may be wrong with the translation, worst first; only hark sends it."
CONFIDENCE = {
    "type": ["number", "null"],
    "description": "How sure the model is of the least certain sentence, 0 to 1; null if no model was asked; only hark "
    "sends it.",
}
FORMALITY = {
    "type": "string",
    "enum": [*get_args(Formality)],
    "default": "auto",
    "description": "How to address the reader, where a model can choose; only hark knows it.",
}
KEY = {"type": "string", "description": "The API key, if the server needs one."}


def describe(settings: ServeSettings, languages: Sequence[str]) -> Schema:
    """Return the description; `languages` are the codes on offer."""
    one_or_more = {"oneOf": [STRING, STRINGS]}
    translate = {
        "q": {
            "description": f"The text, or several; at most {settings.characters:,} characters.",
            "oneOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "items": STRING, "minItems": 1, "maxItems": settings.batch},
            ],
        },
        "source": {"type": "string", "enum": ["auto", *languages], "description": "auto: detect it."},
        "target": {"type": "string", "enum": [*languages]},
        "format": {"type": "string", "enum": ["text", "html"], "default": "text"},
        "formality": FORMALITY,
        "alternatives": {"type": "integer", "minimum": 0, "maximum": settings.nbest - 1, "default": 0},
        "api_key": KEY,
    }
    translated = {
        "type": "object",
        "required": ["translatedText"],
        "properties": {
            "translatedText": one_or_more,
            "detectedLanguage": {"oneOf": [LANGUAGE, items(LANGUAGE)]},
            "alternatives": items(one_or_more),
            "warnings": {"type": "array", "description": f"{WARNINGS} A list of lists for several texts."},
            "confidence": {"oneOf": [CONFIDENCE, items(CONFIDENCE)]},
        },
    }
    detect = {"q": {"type": "string", "minLength": 1}, "api_key": KEY}
    file = {
        "file": {"type": "string", "format": "binary", "description": f"A file: {', '.join(FORMATS)}."},
        "source": translate["source"],
        "target": translate["target"],
        "formality": FORMALITY,
        "api_key": KEY,
    }
    listed = {"type": "object", "properties": {"code": STRING, "name": STRING, "targets": STRINGS}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LibreTranslate's API, served by hark",
            "version": "1",
            "description": "Requests may be JSON, a form, a multipart form or a query.",
        },
        "paths": {
            "/translate": post("Translate text", translate, ["q", "source", "target"], translated),
            "/detect": post("Detect the language of a text", detect, ["q"], items(LANGUAGE)),
            "/languages": get("List the languages", items(listed)),
            "/translate_file": post(
                "Translate a file",
                file,
                ["file", "source", "target"],
                {"type": "object", "properties": {"translatedFileUrl": STRING, "report": REPORT}},
                kind="multipart/form-data",
            ),
            "/frontend/settings": get("Settings for user interfaces", {"type": "object"}),
        },
    }


def post(summary: str, properties: Schema, required: list[str], result: Schema, kind: str = "") -> Schema:
    schema = {"type": "object", "properties": properties, "required": required}
    kinds = [kind] if kind else ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"]
    body = {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}
    return {"post": {"summary": summary, "requestBody": body, "responses": responses(result)}}


def get(summary: str, result: Schema) -> Schema:
    return {"get": {"summary": summary, "responses": responses(result)}}


def responses(result: Schema) -> Schema:
    errors = {
        "400": "The request is invalid",
        "403": "The API key is invalid",
        "413": "The request is too large",
        "429": "Too many requests",
        "503": "The server is busy",
    }
    error = json_content(record({"error": STRING}))
    refused = {status: {"description": meaning, "content": error} for status, meaning in errors.items()}
    return {"200": {"description": "Success", "content": json_content(result)}, **refused}
