"""Chooses the model and the languages for a text: one algorithm for the command, the server and Python.

It depends on nothing but the text and what is known of the models. Where identification is unsure, it asks models
through an inquiry (`languages`); callers that load models and wait use `LoadedModels`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hark import models
from hark.errors import HarkError, UserError
from hark.models import InstalledModel
from hark.text.detector import GLANCE
from hark.translate.languages import Answer, Draft, Inquiry, Question, find_language
from hark.translate.load import Loaded


@dataclass(frozen=True)
class Choice:
    """A model for a text, and its codes of the languages as far as they are known."""

    model: InstalledModel
    source: str | None
    """None: the model has only one, or detects that of each paragraph."""
    target: str | None
    """None: the model has only one."""
    written_in: str | None = None
    """The language of the text if it is not to be translated: it is in the target language already, or no model
    knows its language."""
    share: float = 1.0
    """The probability of the language, if it was detected."""


class UndetectedError(UserError):
    """The language of a text must be known, and cannot be detected."""

    def __init__(self, codes: Iterable[str]) -> None:
        self.problem = f"cannot detect the language ({' or '.join(sorted(codes))})"
        super().__init__(f"{self.problem}; set it with -s")


class LoadedModels:
    """Answers the questions of an inquiry by loading the models. One that cannot be loaded gives no answer."""

    def __init__(self, loaded: Mapping[Path, Loaded] | None = None) -> None:
        """`loaded`: those that are loaded already, by folder."""
        self._loaded = dict(loaded or {})

    def __call__(self, question: Question) -> Answer:
        folder = question.model.folder
        if folder not in self._loaded:
            try:
                self._loaded[folder] = Loaded(folder)
            except HarkError:
                return None
        model = self._loaded[folder]
        if isinstance(question, Draft):
            plain: dict[str, Any] = {"detect": False, "tidy": False, "check": False, "formality": None}
            return model.translate(question.text, target=question.target, **plain).text
        source, target = question.pair
        [nll] = model.nll([(question.text, question.translation)], source=source, target=target)
        return nll and nll.mean


def choose(text: str, source: str | None, target: str | None, offered: Sequence[InstalledModel]) -> Inquiry[Choice]:
    """Choose a model of the offered ones for a text; models of one pair come before those of several.

    A source of None is detected if several languages are possible, or if the text may be in none of them. Without a
    target, it is that of the model of one pair, or else English. Raises an error if no model fits.
    """
    fitting = models.choose(source, target, offered)
    if source is not None:
        return with_target(fitting, source, target)
    found = yield from find_language(text[:GLANCE], target, fitting, offered)
    if found.code is None:
        return undetected(fitting, target)
    if not found.translatable:
        return replace(with_target(fitting, None, target), written_in=found.code, share=found.share)
    return replace(with_target(models.choose(found.code, target, fitting), found.code, target), share=found.share)


def with_target(fitting: Sequence[InstalledModel], source: str | None, target: str | None) -> Choice:
    """The first of the fitting models, and its target if none is given."""
    if target is None:
        fitting = [model for model in fitting if model.bilingual] or fitting
        targets = dict.fromkeys(pair[1] for model in fitting for pair in model.pairs)
        if len(targets) > 1 and "en" in targets and not fitting[0].bilingual:
            return with_target(models.choose(source, "en", fitting), source, "en")
        if len(targets) > 1 and source is not None:
            raise UserError(f"models from {fitting[0].pairs[0][0]} translate to {', '.join(targets)}; choose with -t")
    return Choice(fitting[0], source, target)


def undetected(fitting: Sequence[InstalledModel], target: str | None) -> Choice:
    """A model that need not be told the source language, for a text whose language is unknown."""
    known = models.preferred_sources(fitting)
    general = [model for model in fitting if models.has_all(model, known)]
    if target is None or not general:
        raise UndetectedError(known)
    return Choice(general[0], None, target)
