"""The languages of a request: those given, those of the model, or the source language as detected."""

from dataclasses import replace

from hark.decode.piece import Options
from hark.facts import LanguagePair
from hark.text.detector import base_language, guess_language
from hark.text.vocabulary import TagScheme

UNKNOWN = "und"
"""ISO 639 code of an undetermined language: no rules of any language apply."""
GLANCE = 1000
"""Characters at the beginning of a text used for language detection."""


class LanguageChoice:
    """Chooses the languages of texts for one model."""

    def __init__(self, scheme: TagScheme, default: LanguagePair) -> None:
        """`default`: the languages of a model of one pair."""
        self.scheme, self.default = scheme, default
        self.several = scheme.kind != "none"

    def choose(self, text: str, options: Options) -> Options:
        """Return the options with the languages of a text. Raise an error if the model has no such language."""
        if not self.several:
            return options
        target = self.scheme.resolve_target(options.target)
        sources = self.scheme.sources_of(target)
        if options.source is not None:
            return replace(options, source=self.scheme.resolve_source(options.source), target=target)
        if len(sources) == 1:
            return replace(options, source=sources[0], target=target)
        source = guess_language(text[:GLANCE], sources) if text.strip() else None
        if source is None and self.scheme.kind == "target":  # the source begins with its own tag
            self.scheme.resolve_source(None)
        return replace(options, source=source or UNKNOWN, target=target, detected=True)

    def pair(self, text: str, source: str | None, target: str | None) -> LanguagePair:
        """The languages of a text, given or detected."""
        return self.of(self.choose(text, Options(source=source, target=target)))

    def of(self, options: Options) -> LanguagePair:
        """The languages of a text with these options."""
        return options.source or self.default[0], options.target or self.default[1]

    def find(self, language: str, target: str) -> str | None:
        """The model's code of a source language for a target language, if it has one."""
        return next((code for code in self.scheme.sources_of(target) if base_language(code) == language), None)
