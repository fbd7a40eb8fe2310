"""Where models lie, and which of them translates from one language to another."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import hark
from hark import configfile, manifest
from hark.bundle import CARD, CONFIG, KIND
from hark.configfile import suggest
from hark.errors import UserError
from hark.text.detector import base_language


@dataclass(frozen=True)
class Known:
    """A bundle that was found. It is verified only when it is opened."""

    folder: Path
    source: str = ""
    target: str = ""
    problem: str = ""
    """Why it cannot be used."""

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def pair(self) -> str:
        return f"{self.source} to {self.target}"

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        try:
            return sum(path.stat().st_size for path in self.folder.iterdir())
        except OSError:
            return 0

    @property
    def about(self) -> str:
        """What its card says of it first, below the title."""
        try:
            card = (self.folder / CARD).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""
        paragraphs = (" ".join(each.split()) for each in card.split("\n\n"))
        return next((each for each in paragraphs if each and not each.startswith(("#", "- "))), "")


def user_folder() -> Path:
    """Where a person's own models are put, by the rules of the XDG Base Directory Specification."""
    given = os.environ.get("XDG_DATA_HOME", "")
    base = Path(given) if os.path.isabs(given) else Path.home() / ".local" / "share"
    return base / "hark" / "models"


def places() -> list[Path]:
    """Folders of models, in the order in which they are asked: HARK_MODELS, the user's own, what comes with hark."""
    named = [Path(each).expanduser() for each in os.environ.get("HARK_MODELS", "").split(os.pathsep) if each]
    return [*named, user_folder(), shipped_folder()]


def shipped_folder() -> Path:
    """Where the models lie that come with hark."""
    return Path(hark.__file__).parent / "models_data"


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
        data = configfile.load(folder / CONFIG).data
    except UserError as error:
        return Known(folder, problem=str(error))
    return Known(folder, data.source, data.target)


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
    if path.exists() or os.sep in name:
        return path  # opening it says what is wrong
    none = "; name a folder or a run, or see hark models"
    raise UserError(f"{name}: no such model" + (suggest(name, [each.name for each in models]) if models else none))


def choose(source: str | None, target: str | None, models: Sequence[Known]) -> list[Known]:
    """The models from one language to another, either of which may be left open; an error that helps if none does."""
    usable = [each for each in models if not each.problem]
    fitting = [each for each in usable if matches(source, each.source) and matches(target, each.target)]
    exact = [each for each in fitting if source in (None, each.source) and target in (None, each.target)]
    if fitting:
        return exact or fitting
    if not usable:
        raise UserError(f"no models here; put one into {user_folder()}, or name one with -m; hark models says more")
    wanted = " ".join(part for part in (source and f"from {source}", target and f"to {target}") if part)
    there = ", ".join(dict.fromkeys(each.pair for each in usable))
    near = hint(source, target, usable)
    raise UserError(f"no model {wanted}; there is {there}{near or '; hark models says where to put others'}")


def hint(source: str | None, target: str | None, models: Sequence[Known]) -> str:
    """The nearest code, for one that no model knows."""
    for code, known in ((source, {each.source for each in models}), (target, {each.target for each in models})):
        near = suggest(code, sorted(known)) if code and not any(matches(code, each) for each in known) else ""
        if "did you mean" in near:
            return near
    return ""


def matches(wanted: str | None, has: str) -> bool:
    """`pt-BR` is served by a model of `pt`, and the other way round."""
    return wanted is None or wanted == has or base_language(wanted) == base_language(has)
