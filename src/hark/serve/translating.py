"""Translates texts for the dialects: plain, or with markup, and with the source language detected."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from hark.models import matches
from hark.serve.markup import Markup, MarkupRules
from hark.serve.refusal import Refusal
from hark.serve.service import Job, Service, Translated
from hark.text.detector import base_language
from hark.text.terms import Terms

LONG = 4_000
"""Characters of markup that are parsed in another thread."""
GLANCE = 2_000
"""Characters of a document used for language detection."""


@dataclass(frozen=True)
class Wish:
    """How texts are to be translated."""

    source: str | None
    """None: detect it."""
    target: str
    markup: MarkupRules | None = None
    nbest: int = 1
    split: bool = True
    terms: Terms | None = None


@dataclass(frozen=True)
class TranslatedText:
    """A translation, the language of its source, and further translations."""

    text: str
    source: str
    alternatives: tuple[str, ...] = ()


async def translate_texts(service: Service, texts: Sequence[str], wish: Wish) -> list[TranslatedText]:
    """Translate texts. Text that is in the target language already is returned as it is."""
    limits = service.settings
    if len(texts) > limits.batch:
        raise Refusal(413, f"{len(texts):,} texts are too many; the limit is {limits.batch:,}")
    size = sum(map(len, texts))
    if size > limits.characters:
        raise Refusal(413, f"{size:,} characters are too many; the limit is {limits.characters:,}")
    if is_same_language(service, wish):
        return [TranslatedText(text, wish.target) for text in texts]
    if wish.markup is not None:
        return await _translate_documents(service, texts, wish, wish.markup)
    done = await service.translate(
        Job(tuple(texts), wish.source, wish.target, wish.nbest, split=wish.split, terms=wish.terms)
    )
    return [
        TranslatedText(each.translation.text, each.source, tuple(other.text for other in each.translation.alternatives))
        for each in done
    ]


def is_same_language(service: Service, wish: Wish) -> bool:
    """Whether there is nothing to translate: source and target are the same known language."""
    if wish.source is None or base_language(wish.source) != base_language(wish.target):
        return False
    return any(matches(wish.target, code) for code in service.languages()) and not any(
        matches(wish.source, source) and matches(wish.target, target) for source, target in service.pairs()
    )


async def _translate_documents(
    service: Service, texts: Sequence[str], wish: Wish, rules: MarkupRules
) -> list[TranslatedText]:
    documents = [
        await asyncio.to_thread(Markup, text, rules) if len(text) > LONG else Markup(text, rules) for text in texts
    ]
    # All documents of one source language are one job.
    sources = [wish.source or detect_source(service, document, wish.target) for document in documents]
    answers: list[TranslatedText | None] = [None] * len(documents)
    for source in dict.fromkeys(sources):
        places = [place for place, each in enumerate(sources) if each == source]
        fragments = tuple(text for place in places for text in documents[place].texts)
        job = Job(fragments, source, wish.target, align=True, split=wish.split, terms=wish.terms, fragments=True)
        service.check(job)  # also if there is nothing to translate
        done = iter(await service.translate(job) if fragments else [])
        for place in places:
            answers[place] = _join(
                documents[place], [next(done) for _ in documents[place].texts], source or wish.target
            )
    return [each for each in answers if each is not None]


def _join(document: Markup, done: Sequence[Translated], source: str) -> TranslatedText:
    text = document.join([(each.translation.text, each.translation.links) for each in done])
    return TranslatedText(text, done[0].source if done else source)


def detect_source(service: Service, document: Markup, target: str) -> str | None:
    """The language of a document as a whole: its single words may be too short. None: the service finds out."""
    sources = {source for source, other in service.pairs() if matches(target, other)}
    if len(sources) < 2:
        return None
    sample, size = list[str](), 0
    for text in document.texts:
        sample.append(text)
        size += len(text)
        if size > GLANCE:
            break
    return next((code for code, _ in service.detect("\n".join(sample)) if code in sources), None)
