"""Search for installed models, and their choice by language pair."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hark import configfile, manifest
from hark.bundle import KIND, read_facts
from hark.card import describe_pairs
from hark.configfile import suggest
from hark.errors import UserError
from hark.facts import LanguagePair
from hark.rundir import RunDir
from hark.text.detector import base_language


@dataclass(frozen=True)
class InstalledModel:
    """An installed model. It is verified when it is opened."""

    folder: Path
    pairs: tuple[LanguagePair, ...] = ()
    summary: str = ""
    """A one-sentence description."""
    problem: str = ""
    """Why the model is unusable, if it is."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def languages(self) -> str:
        """A readable list of the language pairs."""
        return describe_pairs(self.pairs)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        try:
            return sum(path.stat().st_size for path in self.folder.iterdir())
        except OSError:
            return 0


def user_folder() -> Path:
    """The folder of the user's own models."""
    return data_folder() / "models"


def phrases_folder() -> Path:
    """The folder of the user's own phrase tables."""
    return data_folder() / "phrases"


def data_folder() -> Path:
    """Hark's data folder, by the XDG Base Directory Specification."""
    data_home = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data_home) if os.path.isabs(data_home) else Path.home() / ".local" / "share"
    return base / "hark"


def places() -> list[Path]:
    """Folders to search for models, in order: HARK_MODELS, the user's own, those that come with hark."""
    named = [Path(each).expanduser() for each in os.environ.get("HARK_MODELS", "").split(os.pathsep) if each]
    return [*named, user_folder(), shipped_folder()]


def shipped_folder() -> Path:
    """The folder of the models that come with hark."""
    return Path(__file__).parent / "models_data"


def list_models(folders: Sequence[Path] | None = None) -> list[InstalledModel]:
    """List every bundle in the given folders or in `places()`; a folder may also be a bundle itself."""
    models = []
    for place in folders if folders is not None else places():
        try:
            inside = sorted(each for each in place.iterdir() if each.is_dir() and not each.name.startswith("."))
        except OSError:
            continue
        models += [describe_model(each) for each in (place, *inside) if manifest.is_kind(each, KIND)]
    return models


def describe_model(folder: Path) -> InstalledModel:
    try:
        facts = read_facts(folder)
    except UserError as error:
        return InstalledModel(folder, problem=str(error))
    return InstalledModel(folder, facts.pairs, facts.summary)


def named_folder(name: str) -> Path:
    """The folder of the model that `-m` names: a bundle, a run (its best model), or the name of an installed model."""
    path = Path(name).expanduser()
    if manifest.is_kind(path, KIND):
        return path
    if manifest.is_kind(path / "best", KIND):
        return path / "best"
    models = list_models()
    for each in models:
        if each.name == name:
            return each.folder
    run = RunDir(path.parent if path.name == "best" else path)
    if run.exists and run.checkpoints.is_dir():
        raise UserError(f"{name}: {why_no_model(run)}")
    if path.exists() or os.sep in name:
        return path  # opening it reports the problem
    remedy = "; name a folder or a run, or see hark models"
    raise UserError(f"{name}: no such model" + (suggest(name, [each.name for each in models]) if models else remedy))


def why_no_model(run: RunDir) -> str:
    """Explain why a run has no model yet, and the remedy."""
    config = configfile.load(run.config)
    last = min(run.saved, config.train.average_last)
    remedy = f"hark average {run.path} --last {last} -o FOLDER" if last else ""
    if not config.data.dev:
        return "the run has no dev set, so it keeps no best model" + (f"; use {remedy}" if remedy else "")
    first = min(config.train.eval_steps, config.train.steps)
    return f"the run has no model yet; wait for step {first:,}" + (f", or use {remedy}" if remedy else "")


def choose(source: str | None, target: str | None, models: Sequence[InstalledModel]) -> list[InstalledModel]:
    """The models for a language pair, each with its matching pairs; None matches any language.

    Prefers models with exactly these codes to models of the same base languages. Raises an error if there are neither.
    """
    usable = [each for each in models if not each.problem]
    fitting = [(each, [pair for pair in each.pairs if fits(source, target, pair)]) for each in usable]
    exact = [
        (each, [pair for pair in pairs if source in (None, pair[0]) and target in (None, pair[1])])
        for each, pairs in fitting
    ]
    for matching in (exact, fitting):
        if any(pairs for _, pairs in matching):
            return [replace(each, pairs=tuple(pairs)) for each, pairs in matching if pairs]
    if not usable:
        raise UserError(f"no models installed; put one into {user_folder()}, or name one with -m; see hark models")
    requested = " ".join(part for part in (source and f"from {source}", target and f"to {target}") if part)
    available = ", ".join(dict.fromkeys(each.languages for each in usable))
    near = hint(source, target, [pair for each in usable for pair in each.pairs])
    raise UserError(f"no model {requested}; available: {available}{near or '; see hark models'}")


def has_all(model: InstalledModel, sources: Collection[str]) -> bool:
    """Whether one model translates from all of these languages: then it need not be told which one a text is in."""
    return {*sources} <= {pair[0] for pair in model.pairs}


def hint(source: str | None, target: str | None, pairs: Sequence[LanguagePair]) -> str:
    """Suggest the closest language code for an unknown one."""
    for code, known in ((source, {pair[0] for pair in pairs}), (target, {pair[1] for pair in pairs})):
        near = suggest(code, sorted(known)) if code and not any(matches(code, each) for each in known) else ""
        if "did you mean" in near:
            return near
    return ""


def fits(source: str | None, target: str | None, pair: LanguagePair) -> bool:
    return matches(source, pair[0]) and matches(target, pair[1])


def matches(requested: str | None, code: str) -> bool:
    """Whether a model's code serves a requested one: `pt` serves `pt-BR`, and vice versa."""
    return requested is None or requested == code or base_language(requested) == base_language(code)
