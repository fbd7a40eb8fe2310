"""The recipes that come with hark, beside this file, and how the one that a person means is found."""

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
    """What a recipe is for: the first line of its file, which is a comment."""
    with (FOLDER / f"{name}.toml").open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").rstrip()


def find_recipe(given: str) -> Path:
    """The file that a person means: the one at this path, or else a recipe that comes with hark, by its name."""
    path = Path(given)
    if path.exists() and not path.is_dir():  # a folder of this name hides no recipe
        return path
    known = names()
    if given in known:
        return FOLDER / f"{given}.toml"
    if os.sep not in given and path.suffix != ".toml":
        raise UserError(f"{given}: no such recipe" + suggest(given, known))
    near = get_close_matches(path.stem, known, n=1, cutoff=0.8)
    raise UserError(f"{given}: no such file" + (f"; did you mean {near[0]}, which comes with hark?" if near else ""))


def split_words(recipe: str | None, overrides: Sequence[str] | None) -> tuple[Path | None, list[str]]:
    """What a verb was given: a recipe, which may be left out, and overrides."""
    words = [*([recipe] if recipe else []), *(overrides or [])]
    return (find_recipe(words[0]), words[1:]) if words and "=" not in words[0] else (None, words)
