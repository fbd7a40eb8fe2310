"""Search for installed models, their choice by language pair, and adding and removing the user's own."""

import os
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from hark import configfile, manifest
from hark.atomic import new_folder
from hark.bundle import CONFIG, KIND, SOURCE_TOKENIZER, TOKENIZER, Bundle, is_bundle, name_of, read_facts
from hark.card import describe_pairs
from hark.config import Shape
from hark.configfile import suggest
from hark.errors import HarkError, UserError, warn_skipped
from hark.facts import LanguagePair
from hark.rundir import RunDir
from hark.text.address import has_forms, has_symbols
from hark.text.detector import base_language
from hark.text.language_names import unknown_name


class NoModelError(UserError):
    """No installed model translates these languages."""

    def __init__(self, message: str, source: str | None, target: str | None) -> None:
        super().__init__(message)
        self.source, self.target = source, target


@dataclass(frozen=True)
class InstalledModel:
    """An installed model. It is verified when it is opened."""

    folder: Path
    pairs: tuple[LanguagePair, ...] = ()
    summary: str = ""
    """A one-sentence description."""
    licence: str = ""
    text_languages: tuple[str, ...] = ()
    """The languages of the text of a model that translates no pairs."""
    problem: str = ""
    """Why the model is unusable, if it is."""
    narrowed: bool = False
    """Whether `pairs` are only some of the model's pairs: those that `choose` found."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def bilingual(self) -> bool:
        """Whether the model translates in one direction only."""
        return len(self.pairs) == 1 and not self.narrowed

    @property
    def languages(self) -> str:
        """A readable list of the language pairs."""
        return describe_pairs(self.pairs) or ", ".join(self.text_languages)

    @property
    def formal_targets(self) -> tuple[str, ...]:
        """The target languages in which it can be asked for formal or informal address."""
        targets = tuple(dict.fromkeys(pair[1] for pair in self.pairs if has_forms(pair[1])))
        source = self.folder / SOURCE_TOKENIZER
        return targets if targets and _has_symbols(source if source.exists() else self.folder / TOKENIZER) else ()

    @property
    def size(self) -> int:
        """Bytes on disk."""
        try:
            return sum(path.stat().st_size for path in self.folder.iterdir())
        except OSError:
            return 0


@cache
def _has_symbols(vocabulary: Path) -> bool:
    try:
        return has_symbols(vocabulary.read_bytes())
    except OSError:
        return False


def user_folder() -> Path:
    """The folder of the user's own models."""
    return data_folder() / "models"


def phrases_folder() -> Path:
    """The folder of the user's own phrase tables."""
    return data_folder() / "phrases"


def data_folder() -> Path:
    """Hark's data folder, by the XDG Base Directory Specification."""
    data_home = os.environ.get("XDG_DATA_HOME", "")
    if os.path.isabs(data_home):
        return Path(data_home, "hark")
    try:
        home = Path.home()
    except RuntimeError:  # the user has none, as in a container: nothing is found there, and nothing can be written
        home = Path(os.sep, "nonexistent")
    return home / ".local" / "share" / "hark"


def places() -> list[Path]:
    """Folders to search for models, in order: HARK_MODELS, the user's own, those that come with hark."""
    named = [Path(each).expanduser() for each in os.environ.get("HARK_MODELS", "").split(os.pathsep) if each]
    return [*named, user_folder(), shipped_folder()]


def shipped_folder() -> Path:
    """The folder of the models that come with hark."""
    return Path(__file__).parent / "models_data"


def list_models(folders: Sequence[Path] | None = None) -> list[InstalledModel]:
    """List every bundle in the given folders or in `places()`; a folder may also be a bundle itself.

    In each folder, models of one pair come first: they are smaller, faster and usually better than a general one.
    """
    models = []
    for place in folders if folders is not None else places():
        try:
            inside = sorted(each for each in place.iterdir() if each.is_dir() and not each.name.startswith("."))
        except OSError as error:
            warn_skipped(place, error)
            continue
        found = [describe_model(each) for each in (place, *inside) if manifest.is_kind(each, KIND)]
        models += sorted(found, key=lambda each: len(each.pairs) > 1)
    return models


def describe_model(folder: Path) -> InstalledModel:
    try:
        facts = read_facts(folder)
    except UserError as error:
        return InstalledModel(folder, problem=str(error))
    return InstalledModel(folder, facts.pairs, facts.summary, facts.licence, facts.languages)


def add_model(folder: Path, force: bool = False) -> Path:
    """Verify a bundle, or the best model of a run, and copy it into the user's folder; return the copy."""
    original = Bundle.open(folder / "best" if is_bundle(folder / "best") else folder)
    copy = user_folder() / name_of(original.folder.resolve())
    if copy.resolve() == original.folder.resolve():
        raise UserError(f"{folder}: is among your own models already")
    try:
        with new_folder(copy, is_bundle, force) as partial:
            for path in original.folder.iterdir():
                shutil.copy2(path, partial / path.name)
    except OSError as error:
        raise HarkError(f"{copy}: cannot be written: {error.strerror}") from None
    return copy


def remove_model(name: str) -> Path:
    """Delete a model from the user's folder; return its path. Other folders are never touched."""
    own = user_folder()
    names = [each.name for each in list_models([own]) if each.folder != own]
    if name not in names:
        if any(each.name == name for each in list_models()):
            raise UserError(f"{name}: is not one of your own models in {own}, so it is not removed")
        raise UserError(f"{name}: no such model in {own}" + (suggest(name, names) if names else ""))
    folder = own / name
    try:
        hidden = folder.rename(folder.with_name(f".{name}.removed"))  # gone at once, even if deleting is interrupted
        shutil.rmtree(hidden)
    except OSError as error:
        raise HarkError(f"{folder}: cannot be removed: {error.strerror}") from None
    return folder


def find_shape(*shapes: Shape) -> Path | None:
    """The folder of the first installed model with one of these shapes, those of the first shape before others. Models
    that translate are passed over."""
    others = (each.folder for each in list_models() if not each.pairs and not each.problem)
    found = {folder: configfile.load(folder / CONFIG).model.shape for folder in others}
    return next((folder for shape in shapes for folder in found if found[folder] == shape), None)


def shape_of(folder: Path) -> Shape:
    """The shape of the model in a folder. Opening it reports a problem, so one that cannot be read is any."""
    try:
        return configfile.load(folder / CONFIG).model.shape
    except HarkError:
        return "encoder-decoder"


def translates(folder: Path) -> bool:
    """Whether the model in a folder has pairs of languages. One that cannot be read does: opening it reports why."""
    described = describe_model(folder)
    return bool(described.pairs or described.problem)


def find_pair(pair: LanguagePair, beside: Path) -> Path | None:
    """The folder of a model that translates a pair: next to the model `beside`, or else among the installed ones.

    Models of exactly this pair come first."""
    known = [each for each in (*list_models([beside.parent]), *list_models()) if pair in each.pairs]
    return min(known, key=lambda each: len(each.pairs) > 1).folder if known else None


def named_folder(name: str) -> Path:
    """The folder of the model that `-m` names, see `find_named`."""
    return find_named(name)[0]


def find_named(name: str) -> tuple[Path, LanguagePair | None]:
    """The folder of a model: a bundle, a run (its best model), the name of an installed model, or a pair of languages
    such as en-de, which is then returned too: the installed model that translates it, in that direction."""
    path = Path(name).expanduser()
    if manifest.is_kind(path, KIND):
        return path, None
    if manifest.is_kind(path / "best", KIND):
        return path / "best", None
    models = list_models()
    for each in models:
        if each.name == name:
            return each.folder, None
    run = RunDir(path.parent if path.name == "best" else path)
    if run.exists and run.checkpoints.is_dir():
        raise UserError(f"{name}: {why_no_model(run)}")
    if path.exists() or os.sep in name:
        return path, None  # opening it reports the problem
    source, _, target = name.partition("-")
    fitting = [each for each in models if (source, target) in each.pairs and not each.problem]
    if fitting:
        return fitting[0].folder, (source, target)
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
    usable = [each for each in models if each.pairs and not each.problem]
    fitting = [(each, [pair for pair in each.pairs if fits(source, target, pair)]) for each in usable]
    exact = [
        (each, [pair for pair in pairs if source in (None, pair[0]) and target in (None, pair[1])])
        for each, pairs in fitting
    ]
    for matching in (exact, fitting):
        if any(pairs for _, pairs in matching):
            return [narrow(each, pairs) for each, pairs in matching if pairs]
    if not usable:
        raise UserError("no models installed; hark models add FOLDER installs one, or name its folder with -m")
    for code in (source, target):
        if code is not None and (problem := unknown_name(code)):
            raise UserError(problem)
    requested = " ".join(part for part in (source and f"from {source}", target and f"to {target}") if part)
    every = [each for each in usable if not any({*each.pairs} < {*other.pairs} for other in usable)]
    available = ", ".join(dict.fromkeys(each.languages for each in every))
    near = hint(source, target, [pair for each in usable for pair in each.pairs])
    if near:
        raise UserError(f"no model {requested}; available: {available}{near}")
    raise NoModelError(f"no model {requested}; available: {available}; see hark models", source, target)


def prefer_formal(source: str | None, target: str | None, models: Sequence[InstalledModel]) -> Sequence[InstalledModel]:
    """The models that can be asked for a form of address in these languages; all if there are none."""
    able = [
        each
        for each in models
        if any(fits(source, target, pair) and pair[1] in each.formal_targets for pair in each.pairs)
    ]
    return able or models


def narrow(model: InstalledModel, pairs: Sequence[LanguagePair]) -> InstalledModel:
    return replace(model, pairs=tuple(pairs), narrowed=model.narrowed or len(pairs) < len(model.pairs))


def preferred_sources(models: Sequence[InstalledModel]) -> set[str]:
    """The source languages of the models of one pair; if there are no such models, those of the first."""
    chosen = [each for each in models if each.bilingual] or models[:1]
    return {source for each in chosen for source, _ in each.pairs}


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
