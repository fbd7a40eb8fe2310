"""The API of DeepL: /v2/translate, /v2/languages, /v2/usage, and with other modules documents and glossaries."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hark.documents.markup_tokens import MarkupRules
from hark.models import data_folder
from hark.serve import deepl_documents, deepl_glossaries
from hark.serve.bodies import Fields, Refusal, read_fields
from hark.serve.deepl_glossaries import find_terms
from hark.serve.deepl_requests import MODEL_TYPES, owner, read_formality, read_languages, tag_names
from hark.serve.glossaries import Glossaries
from hark.serve.hangup import answer_patiently
from hark.serve.native import CompactJson, refuse_with
from hark.serve.service import Service
from hark.serve.settings import ServeSettings
from hark.serve.translating import TextOptions, translate_texts
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
        *deepl_documents.routes(service, settings, glossaries, used),
        *deepl_glossaries.routes(service, glossaries),
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
