"""Which language a word or two are in, where a detector cannot tell: models try, and the likelier wins."""

from collections.abc import Mapping

from hark.decode.load import Loaded

COPIED = 2.0
"""A model that leaves the text as it is most likely does not know it; in nats a token."""
PHRASE = 5.0
"""What the phrase table of a pair has is in its source language."""


def choose_source(text: str, models: Mapping[str, Loaded]) -> str:
    """The source language whose model makes the most of a short text. `models` are by their source languages.

    The measure is how surely a model translates it and, if there is a model for the way back, how surely that one finds
    the text again. Of 74 everyday words in two languages, 70 are told so; the rest are words of both.
    """
    return min(models, key=lambda source: _doubt(text, models[source], models))


def _doubt(text: str, model: Loaded, models: Mapping[str, Loaded]) -> float:
    translation = model.translate(text, detect=False, tidy=False).text
    doubt = _per_token(model, text, translation)
    back = models.get(model.config.data.target)
    if back is not None:
        doubt += _per_token(back, translation, text)
    if translation.strip(" .!?\n").casefold() == text.strip(" .!?\n").casefold():
        doubt += COPIED
    return doubt - (PHRASE if model.phrases.lookup(text.strip()) is not None else 0.0)


def _per_token(model: Loaded, source: str, translation: str) -> float:
    [log_prob] = model.score([(source, translation)])
    return -log_prob / (len(model.target_vocabulary.encode_one(translation)) + 1)
