"""Choice of the model to translate with: by name, or by language pair, with the source language detected."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from hark.errors import UserError

if TYPE_CHECKING:
    from hark.decode.load import Loaded
    from hark.models import InstalledModel


def choose_model(
    model: str | None, source: str | None, target: str | None, lines: Iterable[str]
) -> tuple[Path, str | None, Iterable[str]]:
    """Return the folder of the named model or of one for the pair, the source language, and the text.

    The source language is detected if several are possible.
    """
    from hark import models

    if model is not None:
        return models.named_folder(model), source, lines
    fitting = models.choose(source, target, models.list_models())
    sources = {pair[0] for each in fitting for pair in each.pairs}
    if target is not None and models.has_all(fitting[0], sources):
        return fitting[0].folder, source, lines  # a model of several pairs detects the language of each paragraph
    if len(sources) > 1:
        source, lines = read_source(sources, lines, fitting)
        fitting = (
            models.choose(source, target, fitting) if source else [m for m in fitting if models.has_all(m, sources)]
        )
    # Without -t, a model of one pair takes precedence.
    fitting = [each for each in fitting if len(each.pairs) == 1] or fitting
    targets = dict.fromkeys(pair[1] for each in fitting for pair in each.pairs)
    if len(targets) > 1 and has_text(lines):
        language = fitting[0].pairs[0][0]
        raise UserError(f"models from {language} translate to {', '.join(targets)}; choose with -t")
    return fitting[0].folder, source, lines


def has_text(lines: Iterable[str]) -> bool:
    """Whether there is anything to translate. Empty input needs no choice of a model."""
    from hark.cli.streams import ArrivingLines

    return not lines.ended() if isinstance(lines, ArrivingLines) else next(iter(lines), None) is not None


def read_source(
    candidates: set[str], lines: Iterable[str], models: "list[InstalledModel]"
) -> tuple[str | None, Iterable[str]]:
    """Detect the language of a text from its beginning; return it and the text. Very short texts are tried with the
    models. None: unknown, but one model has all candidates."""
    from hark.cli.streams import ArrivingLines
    from hark.decode.source_language import DETECTED, SHORT, detect_source
    from hark.models import has_all

    rest = iter(lines)
    seen: list[str] = []
    for line in rest:
        seen.append(line)
        enough = sum(map(len, seen)) > DETECTED
        if enough or (isinstance(rest, ArrivingLines) and "".join(seen).strip() and not rest.ready()):
            break
    text = "".join(seen)
    guess = detect_source(text, candidates)
    if guess is None and 0 < len(text.strip()) <= SHORT:
        guess = try_models(text.strip(), candidates, models)
    if guess is None and not any(has_all(each, candidates) for each in models):
        raise UserError(f"cannot detect the language ({' or '.join(sorted(candidates))}); set it with -s")
    if isinstance(rest, ArrivingLines):
        rest.put_back(seen)
        return guess, rest
    return guess, chain(seen, rest)


def try_models(text: str, candidates: set[str], models: "list[InstalledModel]") -> str | None:
    """The source language whose model gives the text the most likely translation, if that is clear."""
    from hark.decode.load import Loaded
    from hark.decode.source_language import choose_source

    first = {
        source: next(each for each in models if source in [pair[0] for pair in each.pairs])
        for source in sorted(candidates)
    }
    if len({each.folder for each in first.values()}) < len(candidates):
        return None  # a model of several source languages
    loaded = {source: Loaded(each.folder) for source, each in first.items()}
    single = all(len(each.facts.pairs) == 1 for each in loaded.values())
    return choose_source(text, loaded) if single else None


def model_codes(loaded: "Loaded", source: str | None, target: str | None) -> tuple[str | None, str | None]:
    """The model's codes for the requested languages: `pt` for `pt-BR`. Raise an error if it has no such pair."""
    from hark.card import describe_pairs
    from hark.models import fits

    pairs = loaded.facts.pairs
    fitting = [pair for pair in pairs if fits(source, target, pair)]
    if not fitting and loaded.facts.vocabulary.language_tags == "source":
        # Both languages may be known from other pairs (zero-shot translation).
        fitting = [(one, other) for one, _ in pairs for _, other in pairs if fits(source, target, (one, other))]
    if not fitting:
        raise UserError(
            f"{loaded.bundle.folder}: translates {describe_pairs(pairs)}, "
            f"not {source or pairs[0][0]} to {target or pairs[0][1]}; choose another model"
        )
    exact = [pair for pair in fitting if source in (None, pair[0]) and target in (None, pair[1])] or fitting
    return source and exact[0][0], target and exact[0][1]
