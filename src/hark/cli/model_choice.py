"""Which model translates: the one that was named, or one for the languages, which the text may tell."""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from hark.errors import UserError

if TYPE_CHECKING:
    from hark.decode.load import Loaded
    from hark.models import Known

DETECTED = 1000
"""Characters at the beginning of a text that its language is detected from."""
SHORT = 60
"""Characters of a text up to which models are tried if the detector cannot tell its language."""


def choose_model(
    model: str | None, source: str | None, target: str | None, lines: Iterable[str]
) -> tuple[Path, str | None, Iterable[str]]:
    """The bundle that was named, or the one for the pair; the source language, which is told from the text if several
    are possible; and the text."""
    from hark import models

    if model is not None:
        return models.named_folder(model), source, lines
    fitting = models.choose(source, target, models.list_models())
    sources = {pair[0] for each in fitting for pair in each.pairs}
    if len(sources) > 1:
        source, lines = detect_source(sources, lines, fitting)
        fitting = models.choose(source, target, fitting)
    targets = dict.fromkeys(pair[1] for each in fitting for pair in each.pairs)
    if len(targets) > 1 and has_text(lines):
        spoken = fitting[0].pairs[0][0]
        raise UserError(f"models from {spoken} translate to {', '.join(targets)}; choose with -t")
    return fitting[0].folder, source, lines


def has_text(lines: Iterable[str]) -> bool:
    """Whether there is anything to translate. An empty pipe or file needs no choice, so nobody is asked for one."""
    from hark.cli.streams import ArrivingLines

    return not lines.ended() if isinstance(lines, ArrivingLines) else next(iter(lines), None) is not None


def detect_source(candidates: set[str], lines: Iterable[str], known: "list[Known]") -> tuple[str, Iterable[str]]:
    """The language of a text by its beginning, and the text again. Of a word or two, models tell it."""
    from hark.cli.streams import ArrivingLines
    from hark.text.detector import guess_language

    rest = iter(lines)
    seen: list[str] = []
    for line in rest:
        seen.append(line)
        enough = sum(map(len, seen)) > DETECTED
        if enough or (isinstance(rest, ArrivingLines) and "".join(seen).strip() and not rest.ready()):
            break
    text = "".join(seen)
    guess = guess_language(text[:DETECTED], sorted(candidates))
    if guess is None and 0 < len(text.strip()) <= SHORT:
        guess = try_models(text.strip(), candidates, known)
    if not text.strip():
        guess = min(candidates)  # no words, so any model will do
    if guess is None:
        raise UserError(f"cannot tell whether this is {' or '.join(sorted(candidates))}; say so with -s")
    if isinstance(rest, ArrivingLines):
        rest.put_back(seen)
        return guess, rest
    return guess, chain(seen, rest)


def try_models(text: str, candidates: set[str], known: "list[Known]") -> str | None:
    """The language that a model for it makes the most of."""
    from hark.decode.likelier import choose_source
    from hark.decode.load import Loaded

    first = {source: next(each for each in known if each.pairs[0][0] == source) for source in sorted(candidates)}
    single = {source: Loaded(each.folder) for source, each in first.items() if len(each.pairs) == 1}
    return choose_source(text, single) if len(single) == len(candidates) else None


def model_codes(loaded: "Loaded", source: str | None, target: str | None) -> tuple[str | None, str | None]:
    """The model's own codes of languages that were named: `pt` for `pt-BR`. It must translate from one to the other."""
    from hark.card import describe_pairs
    from hark.models import fits

    pairs = loaded.facts.pairs
    fitting = [pair for pair in pairs if fits(source, target, pair)]
    if not fitting:
        raise UserError(
            f"{loaded.bundle.folder}: translates {describe_pairs(pairs)}, "
            f"not {source or pairs[0][0]} to {target or pairs[0][1]}; choose another model"
        )
    exact = [pair for pair in fitting if source in (None, pair[0]) and target in (None, pair[1])] or fitting
    return source and exact[0][0], target and exact[0][1]
