"""Choice of the model to translate with: by name, or by language pair, with the source language detected."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hark.errors import UserError

if TYPE_CHECKING:
    from hark.text.address import Formality
    from hark.translate.load import Loaded


class ChosenModel(NamedTuple):
    """A model, the languages as far as they are known, and the text, of which nothing is lost."""

    folder: Path
    source: str | None
    """None: the model has only one, or detects that of each paragraph."""
    target: str | None
    """None: the model has only one."""
    lines: Iterable[str]
    written_in: str | None = None
    """The language of the text if it is not to be translated, see `hark.translate.choice`."""


def choose_model(
    model: str | None,
    source: str | None,
    target: str | None,
    lines: Iterable[str],
    formality: "Formality" = "auto",
) -> ChosenModel:
    """Choose the named model or one for the languages, and find the language of the text from its beginning.

    If no installed model has them, the error says how to get a public one."""
    from hark.models import NoModelError

    try:
        return choose_installed(model, source, target, lines, formality)
    except NoModelError as error:
        from hark.exchange.catalogue import advise

        command = advise(error.source, error.target)
        raise UserError(f"{error}; a public one: {command}" if command else str(error)) from None


def choose_installed(
    model: str | None, source: str | None, target: str | None, lines: Iterable[str], formality: "Formality"
) -> ChosenModel:
    from hark import models
    from hark.cli.streams import print_note
    from hark.text.language_names import language_name
    from hark.translate.choice import Choice, LoadedModels, choose
    from hark.translate.languages import PLAUSIBLE, resolve

    if model is not None:
        folder, pair = models.find_named(model)
        named = models.describe_model(folder)
        if pair is not None:
            if not models.fits(source, target, pair):
                asked = f"{source or pair[0]} to {target or pair[1]}"
                raise UserError(f"{model}: translates {' to '.join(pair)}, not {asked}; choose another model")
            named = models.narrow(named, [pair])
            source, target = pair
        fits = any(models.fits(source, target, pair) for pair in named.pairs)
        if source is not None or not named.bilingual or not fits:  # opening it reports a problem
            return ChosenModel(named.folder, source, target, lines)
        offered = [named]
    else:
        offered = models.list_models()
        if formality != "auto":
            offered = [*models.prefer_formal(source, target, offered)]
        fitting = models.choose(source, target, offered)
        sources = {pair[0] for each in fitting for pair in each.pairs}
        if source is None and target is not None and not fitting[0].bilingual and models.has_all(fitting[0], sources):
            return ChosenModel(fitting[0].folder, source, target, lines)  # detects the language of each paragraph
    text = ""
    if source is None:
        text, lines = read_beginning(lines)
    try:
        chosen = resolve(choose(text, source, target, offered), LoadedModels())
    except UserError:
        if source is None or has_text(lines):
            raise
        chosen = Choice(models.choose(source, target, offered)[0], source, target)
    if source is None and chosen.source is not None and 0.0 < chosen.share < PLAUSIBLE:
        print_note(f"taken for {language_name(chosen.source)}; if it is not, say with -s what it is")
    return ChosenModel(chosen.model.folder, chosen.source, chosen.target, lines, chosen.written_in)


def has_text(lines: Iterable[str]) -> bool:
    """Whether there is anything to translate. Empty input needs no choice of a model."""
    from hark.cli.streams import ArrivingLines

    return not lines.ended() if isinstance(lines, ArrivingLines) else next(iter(lines), None) is not None


def choose_form(
    loaded: "Loaded", lines: Iterable[str], formality: "Formality", source: str | None, target: str | None
) -> "tuple[Formality | None, Iterable[str]]":
    """Choose one form of address for a text, by its beginning; return it, and the whole text."""
    from hark.text.address import READ

    if not loaded.translator.check_formality(formality, target) or formality != "auto":
        return formality, lines
    text, lines = read_beginning(lines, READ)
    return loaded.choose_form([text], formality, source, target), lines


def read_beginning(lines: Iterable[str], characters: int | None = None) -> tuple[str, Iterable[str]]:
    """Read as much of a text as a choice depends on, by default that of the language; return that, and the whole
    text."""
    from hark.cli.streams import ArrivingLines
    from hark.text.detector import GLANCE

    characters = GLANCE if characters is None else characters
    rest = iter(lines)
    seen: list[str] = []
    size = 0
    try:
        for line in rest:
            seen.append(line)
            size += len(line)
            enough = size > characters
            if enough or (isinstance(rest, ArrivingLines) and "".join(seen).strip() and not rest.ready()):
                break
    except UserError as error:  # an unreadable line: those before it are translated first
        rest = rest if isinstance(rest, ArrivingLines) else raise_later(error)
    text = "".join(seen)[:characters]
    if isinstance(rest, ArrivingLines):
        rest.put_back(seen)
        return text, rest
    return text, chain(seen, rest)


def raise_later(error: UserError) -> Iterator[str]:
    raise error
    yield


def model_codes(loaded: "Loaded", source: str | None, target: str | None) -> tuple[str | None, str | None]:
    """The model's codes for the requested languages: `pt` for `pt-BR`. Raise an error if it has no such pair."""
    from hark.card import describe_pairs
    from hark.models import fits
    from hark.text.language_names import unknown_name

    pairs = loaded.pairs
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
