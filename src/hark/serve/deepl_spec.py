"""The OpenAPI description of DeepL's API, as far as it is offered: a part of that of the native API."""

from collections.abc import Sequence

from hark.serve.deepl import FORMALITIES, MODEL_TYPES
from hark.serve.libretranslate_spec import CONFIDENCE, WARNINGS
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
from hark.serve.settings import ServeSettings

MEANINGS = {
    **REFUSALS,
    404: "There is no such glossary or document.",
    456: "There are too many glossaries.",
    503: "The queue is full, the document is not done, or the server is shutting down; see the header Retry-After.",
}
ID: Schema = in_path("id", {"type": "string", "minLength": 1})
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
REQUIRED = ("source_lang", "target_lang", "entries")
"""The fields of a dictionary without a default."""
DICTIONARIES = items({"type": "object", "properties": DICTIONARY, "required": [*REQUIRED]})
NAME: Schema = {**TEXT, "minLength": 1}
PAIR: Schema = {"source_lang": STRING, "target_lang": STRING}
KEY: Schema = {"document_key": {**TEXT, "description": "The key that the upload returned."}}


def paths(settings: ServeSettings) -> Schema:
    """The paths, with the limits of a server."""
    texts = {"type": "array", "items": TEXT, "minItems": 1, "maxItems": settings.batch}
    tags = {"oneOf": [TEXT, items(TEXT)]}
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
    upload = body(document, "file", "target_lang", kind="multipart/form-data")
    key = body(KEY, "document_key")
    one = body({**DICTIONARY, "name": NAME}, "name", *REQUIRED)
    several = {"name": NAME, "dictionaries": DICTIONARIES}
    kind = query("type", {"enum": ["source", "target"]}, required=False)
    pair = [query(name, schema) for name, schema in PAIR.items()]
    refused = refusals(dict(sorted(MEANINGS.items())), "DeepLError")
    found: dict[str, Schema] = {}

    def add(
        method: str, path: str, summary: str, answer: str | None, request: Schema | None = None,
        parameters: Sequence[Schema] = (), status: int = 200,
    ) -> None:  # fmt: skip
        """Add an operation; `answer` is a type, a content type, or None if it has no content."""
        done: Schema = {"description": "OK"}
        if answer:
            done["content"] = {answer: {"schema": STRING}} if "/" in answer else json_content(ref(answer))
        operation: Schema = {"summary": summary, "tags": ["DeepL"], "responses": {str(status): done, **refused}}
        if request:
            operation["requestBody"] = request
        if all_parameters := [*([ID] if "{id}" in path else []), *parameters]:
            operation["parameters"] = all_parameters
        found.setdefault(path, {})[method] = operation

    add("post", "/v2/translate", "Translate texts", "DeepLTranslations", body(translate, "text", "target_lang"))
    add("get", "/v2/languages", "List languages", "DeepLLanguages", parameters=[kind])
    add("get", "/v2/usage", "Count translated characters", "DeepLUsage")
    add("post", "/v2/document", "Upload a document", "DeepLDocument", upload)
    add("post", "/v2/document/{id}", "Ask for the state of a document", "DeepLProgress", key)
    octets = "application/octet-stream"
    add("post", "/v2/document/{id}/result", "Download a translated document, once", octets, key)
    add("get", "/v2/glossary-language-pairs", "List the languages of glossaries", "DeepLPairs")
    add("get", "/v2/glossaries", "List glossaries of one dictionary", "DeepLGlossaries")
    add("post", "/v2/glossaries", "Create a glossary of one dictionary", "DeepLGlossary", one, status=201)
    add("get", "/v2/glossaries/{id}", "Describe a glossary of one dictionary", "DeepLGlossary")
    add("delete", "/v2/glossaries/{id}", "Delete a glossary", None, status=204)
    tsv = "text/tab-separated-values"
    add("get", "/v2/glossaries/{id}/entries", "Read the entries of a glossary", tsv)
    add("get", "/v3/glossaries", "List glossaries", "DeepLMultilingualGlossaries")
    create = body(several, "name", "dictionaries")
    add("post", "/v3/glossaries", "Create a glossary", "DeepLMultilingualGlossary", create, status=201)
    add("get", "/v3/glossaries/{id}", "Describe a glossary", "DeepLMultilingualGlossary")
    add("patch", "/v3/glossaries/{id}", "Rename a glossary, or add entries", "DeepLMultilingualGlossary", body(several))
    add("delete", "/v3/glossaries/{id}", "Delete a glossary", None, status=204)
    dictionaries = "/v3/glossaries/{id}/dictionaries"
    add("put", dictionaries, "Replace a dictionary", "DeepLDictionary", body(DICTIONARY, *REQUIRED))
    add("delete", dictionaries, "Delete a dictionary", None, parameters=pair, status=204)
    add("get", "/v3/glossaries/{id}/entries", "Read the entries of a dictionary", "DeepLEntries", parameters=pair)
    return found


def schemas() -> Schema:
    """The types of the answers."""
    dictionary = {**PAIR, "entry_count": COUNT}
    glossary = {"glossary_id": STRING, "name": STRING, "creation_time": STRING}
    one = record({**glossary, "ready": {"const": True}, **dictionary})
    several = record({**glossary, "dictionaries": items(record(dictionary))})
    entries = {**PAIR, "entries": STRING, "entries_format": {"const": "tsv"}}
    language = record({"language": STRING, "name": STRING})
    language["properties"] = {**language["properties"], "supports_formality": {"type": "boolean"}}  # only of targets
    translation = {
        "detected_source_language": STRING,
        "text": STRING,
        "billed_characters": COUNT,
        "warnings": {**STRINGS, "description": WARNINGS},
        "confidence": CONFIDENCE,
    }
    return {
        "DeepLTranslations": record({"translations": items(record(translation))}),
        "DeepLLanguages": items(language),
        "DeepLUsage": record({"character_count": COUNT, "character_limit": COUNT}),
        "DeepLDocument": record({"document_id": STRING, "document_key": STRING}),
        "DeepLProgress": record({"document_id": STRING, "status": {"enum": ["translating", "done", "error"]}}),
        "DeepLPairs": record({"supported_languages": items(record(PAIR))}),
        "DeepLGlossary": one,
        "DeepLGlossaries": record({"glossaries": items(one)}),
        "DeepLMultilingualGlossary": several,
        "DeepLMultilingualGlossaries": record({"glossaries": items(several)}),
        "DeepLDictionary": record(dictionary),
        "DeepLEntries": record({"dictionaries": items(record(entries))}),
        "DeepLError": record({"message": STRING}),
    }
