"""Where models lie, and which of them translates from one language to another."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hark import configfile, manifest
from hark.bundle import KIND, read_facts
from hark.card import describe_pairs
from hark.configfile import suggest
from hark.errors import UserError
from hark.facts import Pair
from hark.rundir import RunDir
from hark.text.detector import base_language


@dataclass(frozen=True)
class Known:
    """A bundle that was found. It is verified only when it is opened."""

    folder: Path
    pairs: tuple[Pair, ...] = ()
    summary: str = ""
    """What it is, in a sentence."""
    problem: str = ""
    """Why it cannot be used."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def languages(self) -> str:
        """Its pairs, for people."""
        return describe_pairs(self.pairs)

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        try:
            return sum(path.stat().st_size for path in self.folder.iterdir())
        except OSError:
            return 0


def user_folder() -> Path:
    """Where a person's own models are put."""
    return data_folder() / "models"


def phrases_folder() -> Path:
    """Where a person's own phrase tables are put."""
    return data_folder() / "phrases"


def data_folder() -> Path:
    """By the rules of the XDG Base Directory Specification."""
    given = os.environ.get("XDG_DATA_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "share"
    return base / "hark"


def places() -> list[Path]:
    """Folders of models, in the order in which they are asked: HARK_MODELS, the user's own, what comes with hark."""
    named = [Path(each).expanduser() for each in os.environ.get("HARK_MODELS", "").split(os.pathsep) if each]
    return [*named, user_folder(), shipped_folder()]


def shipped_folder() -> Path:
    """Where the models lie that come with hark."""
    return Path(__file__).parent / "models_data"


def list_models(folders: Sequence[Path] | None = None) -> list[Known]:
    """Every bundle in the places where models lie; a place may also be a bundle itself."""
    found = []
    for place in folders if folders is not None else places():
        try:
            inside = sorted(each for each in place.iterdir() if each.is_dir() and not each.name.startswith("."))
        except OSError:
            continue
        found += [look_at(each) for each in (place, *inside) if manifest.is_kind(each, KIND)]
    return found


def look_at(folder: Path) -> Known:
    try:
        facts = read_facts(folder)
    except UserError as error:
        return Known(folder, problem=str(error))
    return Known(folder, facts.pairs, facts.summary)


def named_folder(name: str) -> Path:
    """What `-m` names: a bundle's folder, a run (its best model), or a model that hark finds by itself."""
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
        return path  # opening it says what is wrong
    none = "; name a folder or a run, or see hark models"
    raise UserError(f"{name}: no such model" + (suggest(name, [each.name for each in models]) if models else none))


def why_no_model(run: RunDir) -> str:
    """Why a run has no model yet, and what to do about it."""
    config = configfile.load(run.config)
    last = min(run.saved, config.train.average_last)
    remedy = f"hark average {run.path} --last {last} -o FOLDER" if last else ""
    if not config.data.dev:
        return "the run has no dev set, so it keeps no model by itself" + (f"; use {remedy}" if remedy else "")
    first = min(config.train.eval_steps, config.train.steps)
    return f"the run has no model yet: the first comes at step {first:,}" + (f", or use {remedy}" if remedy else "")


def choose(source: str | None, target: str | None, models: Sequence[Known]) -> list[Known]:
    """The models from one language to another, each with those of its pairs that fit; either may be left open.

    Models of exactly these codes come alone; if there are none, those of the same languages. An error that helps if
    there are none either.
    """
    usable = [each for each in models if not each.problem]
    fitting = [(each, [pair for pair in each.pairs if fits(source, target, pair)]) for each in usable]
    exact = [
        (each, [pair for pair in pairs if source in (None, pair[0]) and target in (None, pair[1])])
        for each, pairs in fitting
    ]
    for found in (exact, fitting):
        if any(pairs for _, pairs in found):
            return [replace(each, pairs=tuple(pairs)) for each, pairs in found if pairs]
    if not usable:
        raise UserError(f"no models here; put one into {user_folder()}, or name one with -m; hark models says more")
    wanted = " ".join(part for part in (source and f"from {source}", target and f"to {target}") if part)
    there = ", ".join(dict.fromkeys(each.languages for each in usable))
    near = hint(source, target, [pair for each in usable for pair in each.pairs])
    raise UserError(f"no model {wanted}; there is {there}{near or '; hark models says where to put others'}")


def hint(source: str | None, target: str | None, pairs: Sequence[Pair]) -> str:
    """The nearest code, for one that no model knows."""
    for code, known in ((source, {pair[0] for pair in pairs}), (target, {pair[1] for pair in pairs})):
        near = suggest(code, sorted(known)) if code and not any(matches(code, each) for each in known) else ""
        if "did you mean" in near:
            return near
    return ""


def fits(source: str | None, target: str | None, pair: Pair) -> bool:
    return matches(source, pair[0]) and matches(target, pair[1])


def matches(wanted: str | None, has: str) -> bool:
    """`pt-BR` is served by a model of `pt`, and the other way round."""
    return wanted is None or wanted == has or base_language(wanted) == base_language(has)
