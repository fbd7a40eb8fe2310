"""The built-in recipes, in this folder, and their lookup by name."""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from hark.configfile import suggest
from hark.errors import UserError

FOLDER = Path(__file__).parent


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def summary(name: str) -> str:
    """The purpose of a recipe: the first line of its file, a comment."""
    with (FOLDER / f"{name}.toml").open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").rstrip()


def find_recipe(name: str) -> Path:
    """The file at a path, or else the built-in recipe of that name."""
    path = Path(name)
    if path.exists() and not path.is_dir():  # a folder does not hide a recipe of the same name
        return path
    known = names()
    if name in known:
        return FOLDER / f"{name}.toml"
    if os.sep not in name and path.suffix != ".toml":
        raise UserError(f"{name}: no such recipe" + suggest(name, known))
    near = get_close_matches(path.stem, known, n=1, cutoff=0.8)
    raise UserError(f"{name}: no such file" + (f"; did you mean the built-in recipe {near[0]}?" if near else ""))


def split_arguments(recipe: str | None, overrides: Sequence[str] | None) -> tuple[Path | None, list[str]]:
    """Split the arguments of a verb into an optional recipe and overrides."""
    arguments = [*([recipe] if recipe else []), *(overrides or [])]
    return (find_recipe(arguments[0]), arguments[1:]) if arguments and "=" not in arguments[0] else (None, arguments)
