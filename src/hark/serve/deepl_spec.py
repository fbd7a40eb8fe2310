"""The OpenAPI description of DeepL's API, as far as it is offered: a part of that of the native API."""

from typing import Any

from hark.serve.deepl_requests import FORMALITIES, MODEL_TYPES
from hark.serve.libretranslate_spec import CONFIDENCE, WARNINGS
from hark.serve.settings import ServeSettings

Schema = dict[str, Any]
TEXT: Schema = {"type": "string", "pattern": "^[^\\x00]*$"}
STRING: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
REFUSALS = {
    400: "The request is invalid; the message says why.",
    403: "The API key is missing or invalid.",
    404: "There is no such glossary or document.",
    408: "The body came too slowly.",
    413: "The text, the number of texts or the body is too large.",
    421: "The server does not answer for this host name; see --allowed-host.",
    429: "Too many requests of one client; see the header Retry-After.",
    456: "There are too many glossaries.",
    500: "The engine failed; the request may be sent again.",
    503: "The queue is full, the document is not done, or the server is shutting down; see the header Retry-After.",
}
ID: Schema = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
SOURCE: Schema = {"type": "string", "minLength": 1, "description": "Language of the text, such as EN."}
TARGET: Schema = {"type": "string", "minLength": 1, "description": "Language to translate to, such as DE or EN-GB."}
FORMALITY: Schema = {
    "enum": [*FORMALITIES],
    "description": "more and less are refused, and the others change nothing, where supports_formality is false.",
}
DICTIONARY: Schema = {
    "source_lang": SOURCE,
    "target_lang": TARGET,
    "entries": {**TEXT, "description": "A term and its translation in each line."},
    "entries_format": {"enum": ["tsv", "csv"], "default": "tsv"},
}
DICTIONARIES: Schema = {
    "type": "array",
    "items": {"type": "object", "properties": DICTIONARY, "required": ["source_lang", "target_lang", "entries"]},
}
PAIR: Schema = {"source_lang": STRING, "target_lang": STRING}
KEY: Schema = {"document_key": {**TEXT, "description": "The key that the upload returned."}}


def paths(settings: ServeSettings) -> Schema:
    """The paths, with the limits of a server."""
    texts = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": settings.batch}
    tags = {"oneOf": [TEXT, {"type": "array", "items": TEXT}]}
    translate = {
        "text": {**texts, "description": f"At most {settings.characters:,} characters in all."},
        "target_lang": TARGET,
        "source_lang": {**SOURCE, "description": "Without it, the language is detected."},
        "split_sentences": {"enum": ["0", "1", "nonewlines"]},
        "tag_handling": {"enum": ["xml", "html"]},
        **dict.fromkeys(("ignore_tags", "splitting_tags", "non_splitting_tags"), tags),
        "outline_detection": {"type": "boolean"},
        "formality": FORMALITY,
        "model_type": {"enum": [*MODEL_TYPES], "description": "There is one model for all types."},
        "glossary_id": TEXT,
        "glossary_ids": {"type": "array", "items": TEXT, "maxItems": 5},
    }
    document = {
        "file": {"type": "string", "format": "binary"},
        "target_lang": TARGET,
        "source_lang": SOURCE,
        "formality": FORMALITY,
        "glossary_id": TEXT,
        "output_format": {**TEXT, "description": "For PDF: html or docx."},
    }
    kind = {"name": "type", "in": "query", "required": False, "schema": {"enum": ["source", "target"]}}
    languages = [{**each, "in": "query", "required": True} for each in named(PAIR)]
    one = {**DICTIONARY, "name": {**TEXT, "minLength": 1}}
    several = {"name": {**TEXT, "minLength": 1}, "dictionaries": DICTIONARIES}
    return {
        "/v2/translate": {
            "post": operation("Translate texts", "DeepLTranslations", body(translate, "text", "target_lang"))
        },
        "/v2/languages": {"get": operation("List languages", "DeepLLanguages", parameters=[kind])},
        "/v2/usage": {"get": operation("Count translated characters", "DeepLUsage")},
        "/v2/document": {
            "post": operation(
                "Upload a document", "DeepLDocument", body(document, "file", "target_lang", kind="multipart/form-data")
            )
        },
        "/v2/document/{id}": {
            "post": operation("Ask for the state of a document", "DeepLProgress", body(KEY, "document_key"), [ID])
        },
        "/v2/document/{id}/result": {
            "post": operation(
                "Download a translated document, once", "application/octet-stream", body(KEY, "document_key"), [ID]
            )
        },
        "/v2/glossary-language-pairs": {"get": operation("List the languages of glossaries", "DeepLPairs")},
        "/v2/glossaries": {
            "get": operation("List glossaries of one dictionary", "DeepLGlossaries"),
            "post": operation(
                "Create a glossary of one dictionary",
                "DeepLGlossary",
                body(one, "name", "source_lang", "target_lang", "entries"),
                status=201,
            ),
        },
        "/v2/glossaries/{id}": {
            "get": operation("Describe a glossary of one dictionary", "DeepLGlossary", parameters=[ID]),
            "delete": operation("Delete a glossary", None, parameters=[ID], status=204),
        },
        "/v2/glossaries/{id}/entries": {
            "get": operation("Read the entries of a glossary", "text/tab-separated-values", parameters=[ID])
        },
        "/v3/glossaries": {
            "get": operation("List glossaries", "DeepLMultilingualGlossaries"),
            "post": operation(
                "Create a glossary", "DeepLMultilingualGlossary", body(several, "name", "dictionaries"), status=201
            ),
        },
        "/v3/glossaries/{id}": {
            "get": operation("Describe a glossary", "DeepLMultilingualGlossary", parameters=[ID]),
            "patch": operation(
                "Rename a glossary, or add entries", "DeepLMultilingualGlossary", body(several), parameters=[ID]
            ),
            "delete": operation("Delete a glossary", None, parameters=[ID], status=204),
        },
        "/v3/glossaries/{id}/dictionaries": {
            "put": operation(
                "Replace a dictionary",
                "DeepLDictionary",
                body(DICTIONARY, "source_lang", "target_lang", "entries"),
                [ID],
            ),
            "delete": operation("Delete a dictionary", None, parameters=[ID, *languages], status=204),
        },
        "/v3/glossaries/{id}/entries": {
            "get": operation("Read the entries of a dictionary", "DeepLEntries", parameters=[ID, *languages])
        },
    }


def schemas() -> Schema:
    """The types of the answers."""
    dictionary = {**PAIR, "entry_count": COUNT}
    glossary = {"glossary_id": STRING, "name": STRING, "creation_time": STRING}
    one, several = {**glossary, "ready": {"const": True}, **dictionary}, {"dictionaries": items(record(dictionary))}
    entries = {**PAIR, "entries": STRING, "entries_format": {"const": "tsv"}}
    translation = {
        "detected_source_language": STRING,
        "text": STRING,
        "billed_characters": COUNT,
        "warnings": {**items(STRING), "description": WARNINGS},
        "confidence": CONFIDENCE,
    }
    return {
        "DeepLTranslations": record({"translations": items(record(translation))}),
        "DeepLLanguages": items(
            {
                **record({"language": STRING, "name": STRING}),
                "properties": {"language": STRING, "name": STRING, "supports_formality": {"type": "boolean"}},
            }
        ),
        "DeepLUsage": record({"character_count": COUNT, "character_limit": COUNT}),
        "DeepLDocument": record({"document_id": STRING, "document_key": STRING}),
        "DeepLProgress": record({"document_id": STRING, "status": {"enum": ["translating", "done", "error"]}}),
        "DeepLPairs": record({"supported_languages": items(record(PAIR))}),
        "DeepLGlossary": record(one),
        "DeepLGlossaries": record({"glossaries": items(record(one))}),
        "DeepLMultilingualGlossary": record({**glossary, **several}),
        "DeepLMultilingualGlossaries": record({"glossaries": items(record({**glossary, **several}))}),
        "DeepLDictionary": record(dictionary),
        "DeepLEntries": record({"dictionaries": items(record(entries))}),
        "DeepLError": record({"message": STRING}),
    }


def operation(
    summary: str, answer: str | None, request: Schema | None = None, parameters: list[Schema] | None = None,
    status: int = 200,
) -> Schema:  # fmt: skip
    """An operation; `answer` is a type, a content type, or None if it has no content."""
    content = {"content": {answer: {"schema": STRING}}} if answer and "/" in answer else typed(answer) if answer else {}
    refused = {str(code): {"description": words, **typed("DeepLError")} for code, words in REFUSALS.items()}
    found: Schema = {"summary": summary, "tags": ["DeepL"]}
    found["responses"] = {str(status): {"description": "OK", **content}, **refused}
    return found | ({"requestBody": request} if request else {}) | ({"parameters": parameters} if parameters else {})


def body(fields: Schema, *required: str, kind: str = "application/json") -> Schema:
    schema = {"type": "object", "properties": fields, "required": [*required]}
    return {"required": True, "content": {kind: {"schema": schema}}}


def typed(name: str) -> Schema:
    return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}}


def named(fields: Schema) -> list[Schema]:
    return [{"name": name, "schema": schema} for name, schema in fields.items()]


def record(fields: Schema) -> Schema:
    return {"type": "object", "properties": fields, "required": list(fields)}


def items(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}
