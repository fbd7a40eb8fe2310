"""Choice of the model to translate with: by name, or by language pair, with the source language detected."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hark.errors import UserError

if TYPE_CHECKING:
    from hark.decode.load import Loaded
    from hark.models import InstalledModel


class ChosenModel(NamedTuple):
    """A model, the languages as far as they are known, and the text, of which nothing is lost."""

    folder: Path
    source: str | None
    """None: the model has only one, or detects that of each paragraph."""
    target: str | None
    """None: the model has only one."""
    lines: Iterable[str]


def choose_model(model: str | None, source: str | None, target: str | None, lines: Iterable[str]) -> ChosenModel:
    """Choose the named model or one for the pair; models of one pair before those of several.

    The source language is detected if several are possible. Without a target, it is that of the model of one pair, or
    else English.
    """
    from hark import models

    if model is not None:
        return ChosenModel(models.named_folder(model), source, target, lines)
    fitting = models.choose(source, target, models.list_models())
    sources = {pair[0] for each in fitting for pair in each.pairs}
    if target is not None and models.has_all(fitting[0], sources):
        return ChosenModel(fitting[0].folder, source, target, lines)  # detects the language of each paragraph
    if len(sources) > 1:
        source, lines = read_source(lines, fitting, target)
        preferred = models.preferred_sources(fitting)
        fitting = (
            models.choose(source, target, fitting) if source else [m for m in fitting if models.has_all(m, preferred)]
        )
    if target is None:
        fitting = [each for each in fitting if each.bilingual] or fitting
        targets = list(dict.fromkeys(pair[1] for each in fitting for pair in each.pairs))
        if len(targets) > 1 and "en" in targets and not fitting[0].bilingual:
            target = "en"
            fitting = models.choose(source, target, fitting)
        elif len(targets) > 1 and has_text(lines):
            raise UserError(f"models from {fitting[0].pairs[0][0]} translate to {', '.join(targets)}; choose with -t")
    return ChosenModel(fitting[0].folder, source, target, lines)


def has_text(lines: Iterable[str]) -> bool:
    """Whether there is anything to translate. Empty input needs no choice of a model."""
    from hark.cli.streams import ArrivingLines

    return not lines.ended() if isinstance(lines, ArrivingLines) else next(iter(lines), None) is not None


def read_source(
    lines: Iterable[str], models: "Sequence[InstalledModel]", target: str | None
) -> tuple[str | None, Iterable[str]]:
    """Detect the language of a text from its beginning; return it and the text. None: unknown, but one model has all
    candidates."""
    from hark.cli.streams import ArrivingLines
    from hark.decode.source_language import DETECTED

    rest = iter(lines)
    seen: list[str] = []
    try:
        for line in rest:
            seen.append(line)
            enough = sum(map(len, seen)) > DETECTED
            if enough or (isinstance(rest, ArrivingLines) and "".join(seen).strip() and not rest.ready()):
                break
    except UserError as error:  # an unreadable line: those before it are translated first
        rest = rest if isinstance(rest, ArrivingLines) else raise_later(error)
    guess = find_source("".join(seen), models, target)
    if isinstance(rest, ArrivingLines):
        rest.put_back(seen)
        return guess, rest
    return guess, chain(seen, rest)


def raise_later(error: UserError) -> Iterator[str]:
    raise error
    yield


def find_source(text: str, models: "Sequence[InstalledModel]", target: str | None) -> str | None:
    """The language of a text among the sources of these models, those of models of one pair first.

    Very short texts are tried with the models. None: unknown, but one model has all preferred languages.
    """
    from hark.decode.load import Loaded
    from hark.decode.source_language import SHORT, check_other, detect_other, detect_source
    from hark.models import has_all, preferred_sources

    sources = {pair[0] for each in models for pair in each.pairs}
    preferred = preferred_sources(models)
    into = {pair[1] for each in models for pair in each.pairs} if target is not None else set[str]()
    other = detect_other(text, preferred | into, sources - preferred - into)
    if other is not None and other.clear:
        return other.code
    guess = detect_source(text, preferred) if len(preferred) > 1 else min(preferred)
    if guess is None and 0 < len(text.strip()) <= SHORT:
        guess = try_models(text.strip(), preferred, models)
    if guess is None and (target is None or not any(has_all(each, preferred) for each in models)):
        raise UserError(f"cannot detect the language ({' or '.join(sorted(preferred))}); set it with -s")
    if guess is not None and other is not None:
        pivot = next(pair[1] for each in models for pair in each.pairs if pair[0] == guess)
        general = next((each for each in models if (other.code, pivot) in each.pairs), None)
        if general is not None:
            return check_other(text, Loaded(general.folder), preferred | into, pivot) or guess
    return guess


def try_models(text: str, candidates: set[str], models: "Sequence[InstalledModel]") -> str | None:
    """The source language whose model of one pair gives the text the most likely translation, if that is clear."""
    from hark.decode.load import Loaded
    from hark.decode.source_language import choose_source

    first = {pair[0]: each for each in reversed(models) if each.bilingual for pair in each.pairs}
    if not candidates <= first.keys():
        return None
    return choose_source(text, {source: Loaded(first[source].folder) for source in sorted(candidates)})


def model_codes(loaded: "Loaded", source: str | None, target: str | None) -> tuple[str | None, str | None]:
    """The model's codes for the requested languages: `pt` for `pt-BR`. Raise an error if it has no such pair."""
    from hark.card import describe_pairs
    from hark.models import fits
    from hark.text.language_names import unknown_name

    pairs = loaded.facts.pairs
    fitting = [pair for pair in pairs if fits(source, target, pair)]
    if not fitting and loaded.facts.vocabulary.language_tags == "source":
        # Both languages may be known from other pairs (zero-shot translation).
        fitting = [(one, other) for one, _ in pairs for _, other in pairs if fits(source, target, (one, other))]
    if not fitting:
        for code in (source, target):
            if code is not None and (problem := unknown_name(code)):
                raise UserError(problem)
        raise UserError(
            f"{loaded.bundle.folder}: translates {describe_pairs(pairs)}, "
            f"not {source or pairs[0][0]} to {target or pairs[0][1]}; choose another model"
        )
    exact = [pair for pair in fitting if source in (None, pair[0]) and target in (None, pair[1])] or fitting
    return source and exact[0][0], target and exact[0][1]
