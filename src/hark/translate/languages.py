"""The languages of a request: those given, those of the model, or the source language as detected."""

from dataclasses import replace
from pathlib import Path

from hark.errors import HarkError
from hark.facts import LanguagePair
from hark.models import InstalledModel, narrow
from hark.text.detector import GLANCE, base_language, other_language, rank
from hark.text.vocabulary import TagScheme
from hark.translate.piece import Options
from hark.translate.source_language import FoundLanguage, find_language, no_answer, resolve

UNKNOWN = "und"
"""ISO 639 code of an undetermined language: no rules of any language apply."""
CERTAIN = 0.9
"""Minimum probability of a language of the model for translating a part of a text that is in another language."""


class LanguageChoice:
    """Chooses the languages of texts for one model, without asking it."""

    def __init__(self, scheme: TagScheme, default: LanguagePair) -> None:
        """`default`: the languages of a model of one pair."""
        self.scheme, self.default = scheme, default
        self.several = scheme.kind != "none"
        self._model = InstalledModel(Path(), scheme.pairs if self.several else (default,))

    def choose(self, text: str, options: Options) -> Options:
        """Return the options with the languages of a text. Raise an error if the model has no such language."""
        target = self.scheme.resolve_target(options.target) if self.several else self.default[1]
        if self.several:
            options = replace(options, target=target)
            if options.source is not None:
                options = replace(options, source=self.scheme.resolve_source(options.source))
        if not options.detect or (options.source is not None and options.written_in is None):
            return options if options.source is not None or not self.several else self._assume(options)
        try:
            found = self._find(text, target)
        except HarkError:  # the detector is not installed: only models of several pairs need it
            if self.several:
                raise
            return options
        if not found.translatable:
            return replace(self._assume(options) if self.several else options, written_in=found.code)
        if options.written_in is not None and found.share < CERTAIN:
            return options
        options = replace(options, written_in=None)
        if not self.several:
            return options
        if found.code is not None:
            return replace(options, source=found.code, detected=True)
        if self.scheme.kind == "target":  # the source begins with its own tag
            self.scheme.resolve_source(None)
        return self._assume(options)

    def _assume(self, options: Options) -> Options:
        """The options with the only source language there is, or an unknown one."""
        sources = self.scheme.sources_of(options.target or "")
        return replace(options, source=sources[0] if len(sources) == 1 else UNKNOWN, detected=True)

    def _find(self, text: str, target: str) -> FoundLanguage:
        if not text.strip():
            return FoundLanguage(None)
        fitting = narrow(self._model, [pair for pair in self._model.pairs if pair[1] == target])
        return resolve(find_language(text[:GLANCE], target, [fitting], [self._model]), no_answer)

    def pair(self, text: str, source: str | None, target: str | None) -> LanguagePair:
        """The languages of a text, given or detected."""
        return self.of(self.choose(text, Options(source=source, target=target)))

    def of(self, options: Options) -> LanguagePair:
        """The languages of a text with these options."""
        return options.source or self.default[0], options.target or self.default[1]

    def find_other(self, sentence: str, language: str, target: str) -> str | None:
        """The model's code of a source language that a sentence is in, in a text in a language that is not translated.

        Short sentences are identified, too: a text in several languages often has some.
        """
        other = other_language(sentence, language, target)
        if other is None:
            expected = {base_language(language), *map(base_language, self._sources(target))}
            ranking = rank(sentence, expected)
            other = ranking.best if ranking.best and ranking.share([ranking.best]) > CERTAIN else None
        return None if other is None or other == base_language(language) else self.find(other, target)

    def _sources(self, target: str) -> list[str]:
        return self.scheme.sources_of(target) if self.several else [self.default[0]]

    def find(self, language: str, target: str) -> str | None:
        """The model's code of a source language for a target language, if it has one."""
        return next((code for code in self._sources(target) if base_language(code) == base_language(language)), None)
