"""What the requests of DeepL's API have in common: language codes, lists of tags, the owner of what is stored."""

from starlette.requests import Request

from hark.models import matches
from hark.serve.bodies import Fields, Refusal
from hark.serve.service import Service
from hark.text.address import Formality
from hark.text.detector import base_language

FORMALITIES = ("default", "more", "less", "prefer_more", "prefer_less")
MODEL_TYPES = ("latency_optimized", "quality_optimized", "prefer_quality_optimized")


def owner(request: Request) -> str:
    """Whose glossaries, documents and usage a request means: those of its API key; without keys, everybody's."""
    return str(getattr(request.state, "key", ""))


def read_languages(fields: Fields, service: Service) -> tuple[str | None, str]:
    """The languages of a translation in the codes of the service; None: detect the source."""
    target = fields.text("target_lang")
    if not target:
        raise Refusal(400, "Parameter 'target_lang' not specified.")
    source = fields.text("source_lang")
    codes = service.languages()
    return read_code("source_lang", source, codes) if source else None, read_code("target_lang", target, codes)


def read_code(name: str, code: str, known: tuple[str, ...]) -> str:
    """The service's code of a language: `en` for EN-US. `name` is the field, which DeepL's clients look for in the
    message if it is unknown."""
    exact = next((offered for offered in known if offered.lower() == code.lower()), None)
    found = exact or next((offered for offered in known if matches(code, offered)), None)
    if found is None:
        raise Refusal(400, f"{name} {code[:20]} is not supported")
    return found


def read_formality(fields: Fields, service: Service, source: str | None, target: str) -> Formality:
    """The form of address. Refuse what the models cannot do, as DeepL does for languages without such forms."""
    value = (fields.text("formality") or "default").lower()
    if value not in FORMALITIES:
        raise Refusal(400, f"formality must be {', '.join(FORMALITIES[:-1])} or {FORMALITIES[-1]}")
    if value == "default":
        return "auto"
    if not service.offers_formality(source, target):
        if value.startswith("prefer_"):
            return "auto"
        words = f"Target language {target.upper()} does not support formality {value}"
        raise Refusal(400, f"{words}; prefer_{value} is accepted, and ignored")
    return "formal" if value.endswith("more") else "informal"


def read_pair(fields: Fields, service: Service) -> tuple[str, str]:
    """The pair of languages of a dictionary, without regions."""
    source, target = fields.text("source_lang"), fields.text("target_lang")
    if not source or not target:
        raise Refusal(400, "source_lang and target_lang are required")
    pair = base_language(source), base_language(target)
    if pair not in base_pairs(service):
        raise Refusal(400, f"{pair[0][:20]} to {pair[1][:20]} is not supported")
    return pair


def base_pairs(service: Service) -> list[tuple[str, str]]:
    return list(dict.fromkeys((base_language(source), base_language(target)) for source, target in service.pairs()))


def tag_names(fields: Fields, name: str, html: bool) -> frozenset[str]:
    """Names of tags: a list, or names with commas between them."""
    names = ",".join(fields.texts(name) or []).split(",")
    return frozenset(tag.strip().lower() if html else tag.strip() for tag in names) - {""}
