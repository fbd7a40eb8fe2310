"""Identifies the language of a text: by the detector, or by model likelihood where the detector cannot."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hark.decode.load import Loaded
from hark.text.detector import guess_language, rank_languages

COPIED = 2.0
"""Penalty, in nats per token, for a model that copies the text: it most likely does not know it."""
PHRASE = 5.0
"""Bonus for a text in the pair's phrase table: it is in the source language."""
SHORT = 60
"""Length in characters up to which models are tried if the detector is unsure."""
DETECTED = 1000
"""Characters at the beginning of a text used for language detection."""
CLEAR, UNLIKELY = 0.7, 0.1
"""Minimum probability of a language that no model of one pair has, and maximum of those that one has. Of 2,601 English
and German sentences of Tatoeba with up to 60 characters, none is mistaken for another language, and 88% of the French,
Spanish, Italian, Dutch and Portuguese ones are found; the rest is checked by a model."""
CHECKED = 200
"""Characters at the beginning of a text that a model checks."""
MARGIN = 1.0
"""Nats per token by which another language must be more likely than those of the models of one pair. With it, all of
190 everyday lines in English and German and of 400 short sentences of Tatoeba are found, and 981 of 1,000 in the other
languages (benchmarks/source_language.py)."""


@dataclass(frozen=True)
class OtherLanguage:
    """A language that only models of several pairs have, as detected."""

    code: str
    clear: bool
    """Whether it needs no check by a model."""


def detect_source(text: str, candidates: Collection[str]) -> str | None:
    """Return the language of a text among the candidates; None: unknown. Without any text, any candidate will do."""
    if not text.strip():
        return min(candidates)
    return guess_language(text[:DETECTED], sorted(candidates))


def detect_other(text: str, preferred: Collection[str], others: Collection[str]) -> OtherLanguage | None:
    """Return the language of a text if the detector finds one of the others; None: a preferred one, or unknown.

    With more candidates, more short texts are misdetected: "It costs 25 euros." looks Spanish. So the languages of the
    models of one pair, and the target, are preferred.
    """
    ranked = rank_languages(text[:DETECTED], sorted({*preferred, *others})) if others and text.strip() else []
    if not ranked or ranked[0][1] in preferred or ranked[0][0] == 0.0:
        return None
    rival = max((probability for probability, code in ranked if code in preferred), default=0.0)
    return OtherLanguage(ranked[0][1], ranked[0][0] > CLEAR and rival < UNLIKELY)


def likely_other(surprises: Mapping[str, float], preferred: Collection[str]) -> str | None:
    """Return the language in which a text is most likely, if that is clearly more likely than the preferred ones.

    `surprises`: how unlikely the text is in each language, as a translation of its own translation.
    """
    best = min(surprises, key=lambda code: surprises[code])
    own = min((surprises[code] for code in preferred if code in surprises), default=math.inf)
    return best if best not in preferred and own - surprises[best] > MARGIN else None


def check_other(text: str, model: Loaded, preferred: Collection[str], target: str) -> str | None:
    """Return the language of a text if, by a model of several pairs, it is clearly none of the preferred ones.

    The model translates the text to `target`, without being told its language, and back to every language: the text is
    likely in its own.
    """
    beginning = text.strip()[:CHECKED]
    translation = model.translate(beginning, target=target, detect=False, tidy=False, check=False).text
    pair = [(translation, beginning)]
    surprises = {code: model.surprise(pair, source=target, target=code)[0] for code in back_languages(model, target)}
    return likely_other({code: math.inf if each is None else each for code, each in surprises.items()}, preferred)


def back_languages(model: Loaded, target: str) -> list[str]:
    """The languages that a model translates to `target`, and from it."""
    pairs = set(model.facts.pairs)
    return sorted(one for one, other in pairs if other == target and (target, one) in pairs)


def choose_source(text: str, models: Mapping[str, Loaded]) -> str:
    """Return the source language of the model that translates a short text most confidently.

    `models` are keyed by source language. The measure is the log-probability per token of the translation plus, if
    there is a model for the reverse direction, that of the text given the translation. Of 74 everyday words in two
    languages, 70 are identified correctly; the rest are words of both.
    """
    return min(models, key=lambda source: _doubt(text, models[source], models))


def _doubt(text: str, model: Loaded, models: Mapping[str, Loaded]) -> float:
    translation = model.translate(text, detect=False, tidy=False, check=False).text
    doubt = doubt_of(model, text, translation)
    back = models.get(model.facts.pairs[0][1])
    return doubt if back is None else doubt + doubt_per_token(back, translation, text)


def doubt_of(model: Loaded, text: str, translation: str) -> float:
    """How much a model doubts its own translation of a short text: more if it only copied it, less for a phrase."""
    doubt = doubt_per_token(model, text, translation)
    if translation.strip(" .!?\n").casefold() == text.strip(" .!?\n").casefold():
        doubt += COPIED
    return doubt - (PHRASE if model.phrases(*model.facts.pairs[0]).lookup(text.strip()) is not None else 0.0)


def doubt_per_token(model: Loaded, source: str, translation: str) -> float:
    """The negative log-probability per token of a translation; infinite if it is too long for the model."""
    [surprise] = model.surprise([(source, translation)])
    return math.inf if surprise is None else surprise
