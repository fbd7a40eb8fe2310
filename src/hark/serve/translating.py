"""Translates texts for the dialects: plain, or with markup, and with the source language detected."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, get_args

from hark.documents.markup import Markup
from hark.documents.markup_tokens import MarkupRules
from hark.models import matches
from hark.serve.bodies import Fields, Refusal
from hark.serve.service import Job, Service, Translated
from hark.serve.shelf import gather
from hark.text.address import Formality
from hark.text.detector import base_language
from hark.text.terms import Terms
from hark.translate.translation import in_order

MAX_INLINE_CHARS = 4_000
"""Characters of markup beyond which it is parsed in another thread."""
DETECTION_CHARS = 2_000
"""Characters of a document used for language detection."""


@dataclass(frozen=True)
class TextOptions:
    """How texts are to be translated."""

    source: str | None
    """None: detect it."""
    target: str
    markup: MarkupRules | None = None
    nbest: int = 1
    split: bool = True
    terms: Terms | None = None
    formality: Formality = "auto"


@dataclass(frozen=True)
class Notes:
    """What the dialects add to each translation, beyond what LibreTranslate and DeepL say."""

    warnings: tuple[str, ...] = ()
    """The faults that were found, worst first."""
    confidence: float | None = None
    """The model's mean probability of a token in the least certain sentence; None: no model was asked."""

    @classmethod
    def of(cls, parts: Sequence[Translated]) -> "Notes":
        """The notes of a text that was translated in parts."""
        reasons = in_order(reason for part in parts for reason in part.translation.reasons)
        known = [part.confidence for part in parts if part.confidence is not None]
        return cls(tuple(map(str, reasons)), min(known, default=None))

    def fields(self) -> dict[str, Any]:
        known = None if self.confidence is None else round(self.confidence, 4)
        return {"warnings": list(self.warnings), "confidence": known}


@dataclass(frozen=True)
class TranslatedText:
    """A translation, the language of its source, further translations, and what the client should know."""

    text: str
    source: str
    alternatives: tuple[str, ...] = ()
    confidence: float = 1.0
    """The probability of the source language, if it was detected."""
    notes: Notes = Notes()


class FoundLanguages(NamedTuple):
    """The languages of a document."""

    source: str | None
    """None: find that of each part."""
    written_in: str | None = None
    """Its language if it is not to be translated, see `hark.translate.choice`."""
    share: float = 1.0
    """The probability of its language."""


async def translate_texts(service: Service, texts: Sequence[str], options: TextOptions) -> list[TranslatedText]:
    """Translate texts. Text that is in the target language already is returned as it is."""
    limits = service.settings
    if len(texts) > limits.batch:
        raise Refusal(413, f"{len(texts):,} texts are too many; the limit is {limits.batch:,}")
    size = sum(map(len, texts))
    if size > limits.characters:
        raise Refusal(413, f"{size:,} characters are too many; the limit is {limits.characters:,}")
    if is_same_language(service, options):
        return [TranslatedText(text, options.target) for text in texts]
    if options.markup is not None:
        return await _translate_documents(service, texts, options, options.markup)
    job = Job(
        tuple(texts), options.source, options.target, options.nbest, split=options.split, terms=options.terms,
        formality=options.formality,
    )  # fmt: skip
    answers = []
    for done in await service.translate(job):
        others = tuple(other.text for other in done.translation.alternatives)
        answers.append(TranslatedText(done.translation.text, done.source, others, done.share, Notes.of([done])))
    return answers


def is_same_language(service: Service, options: TextOptions) -> bool:
    """Whether there is nothing to translate: source and target are the same known language."""
    if options.source is None or base_language(options.source) != base_language(options.target):
        return False
    return any(matches(options.target, code) for code in service.languages()) and not any(
        matches(options.source, source) and matches(options.target, target) for source, target in service.pairs()
    )


async def _translate_documents(
    service: Service, texts: Sequence[str], options: TextOptions, rules: MarkupRules
) -> list[TranslatedText]:
    documents = []
    # One job for all fragments of one language, and another for those with tags, because word links take time.
    fragments: dict[tuple[FoundLanguages, Formality | None, bool], list[str]] = {}
    for text in texts:
        if len(text) > MAX_INLINE_CHARS:
            document = await asyncio.to_thread(Markup, text, rules)
        else:
            document = Markup(text, rules)
        sample = document.sample(DETECTION_CHARS)
        languages = await find_languages(service, options.source, sample, options.target)
        given = options.formality, languages.source, options.target
        form = await asyncio.to_thread(service.choose_form, document.texts, *given)
        documents.append((document, languages, form))
        for align, fragment in zip(document.tagged, document.texts, strict=True):
            fragments.setdefault((languages, form, align), []).append(fragment)
    jobs = [
        Job(
            tuple(group), languages.source, options.target, align=align, split=options.split, terms=options.terms,
            written_in=languages.written_in, formality=form, fragments=True,
        )
        for (languages, form, align), group in fragments.items()
    ]  # fmt: skip
    for job in jobs or [Job((), options.source, options.target)]:  # also if there is nothing to translate
        service.check(job)
    results = await gather([service.translate(job) for job in jobs])
    done = {key: iter(result) for key, result in zip(fragments, results, strict=True)}
    answers = []
    for document, languages, form in documents:
        parts = [next(done[languages, form, align]) for align in document.tagged]
        text = document.join([(part.translation.text, part.translation.links) for part in parts])
        language = languages.written_in or languages.source or (parts[0].source if parts else options.target)
        answers.append(TranslatedText(text, language, confidence=languages.share, notes=Notes.of(parts)))
    return answers


def read_formality(fields: Fields) -> Formality:
    value = fields.text("formality") or "auto"
    if value not in get_args(Formality):
        raise Refusal(400, "formality must be auto, formal or informal")
    return cast(Formality, value)


async def find_languages(service: Service, source: str | None, beginning: str, target: str) -> FoundLanguages:
    """The languages of a document as a whole, unless its source is given: its single words may be too short."""
    if source:
        return FoundLanguages(source)
    chosen = await service.choose(beginning, target)
    return FoundLanguages(None if chosen.written_in else chosen.source, chosen.written_in, chosen.share)
