"""`hark models`: list installed models, search for public ones, and add or remove them."""

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hark.cli import completion as candidates
from hark.cli import options
from hark.cli.options import argument, option, switch
from hark.cli.streams import is_interactive, print_note
from hark.errors import UserError

if TYPE_CHECKING:
    from hark.models import InstalledModel

EXAMPLES = (
    "hark models en-de",
    "hark models --search fr",
    "hark models get opus-mt-en-fr",
    "hark models add runs/mine",
)
MIN_COLUMNS = 60
"""Assumed minimum width of a terminal."""


def models(
    name: Annotated[
        str | None,
        argument(
            "[ACTION|MODEL]",
            "A model, to show its card: a folder, a run or a name. Or an action: get, add or remove.",
            autocompletion=candidates.models_and_actions,
        ),
    ] = None,
    operand: Annotated[
        str | None, argument("[NAME]", "For get: a name from --search. For add: a folder. For remove: a model.")
    ] = None,
    search: Annotated[
        str | None, option("--search", "LANG", "List public models of a language or a pair, such as de or en-de.")
    ] = None,
    as_json: Annotated[bool, switch("--json", "Print JSON.")] = False,
    force: options.Force = False,
) -> None:
    """List installed models, or find, add and remove models.

    Searches the folders in HARK_MODELS, your own folder and the models that come with hark. For each language pair,
    hark translate uses the first model. Only get uses the network, and not with HARK_OFFLINE=1.
    """
    from hark.models import list_models

    if name in candidates.ACTIONS and search is None and not as_json:
        change_models(name, operand, force)
        return
    if operand is not None:
        raise UserError(f"{operand}: unexpected; the actions are {', '.join(candidates.ACTIONS)}")
    if search is not None:
        if name is not None:
            raise UserError(f"--search and {name} cannot be combined")
        show_catalogue(search, as_json)
        return
    if name is not None:
        show_card(name)
        return
    installed = list_models()
    if as_json:
        sys.stdout.write(json.dumps([as_tree(model) for model in installed], indent=2, ensure_ascii=False) + "\n")
        return
    show_table(installed)
    sys.stdout.flush()
    if is_interactive() or not installed:
        show_places(bool(installed))


def change_models(action: str, operand: str | None, force: bool) -> None:
    """Get, add or remove a model."""
    from hark.models import add_model, describe_model, remove_model

    if operand is None:
        what = {"get": "a model (see hark models --search LANG)", "add": "a folder", "remove": "a model"}[action]
        raise UserError(f"hark models {action}: name {what}")
    match action:
        case "get":
            get_model(operand, force)
        case "add":
            path = Path(operand).expanduser()
            about = describe_model(path / "best" if (path / "best").is_dir() else path)
            if not about.problem:
                sys.stderr.write(f"{operand}: {about.size / 1e6:.1f} MB, licence: {about.licence or 'not stated'}\n")
            typer.echo(str(add_model(path, force)))
        case "remove":
            typer.echo(f"{remove_model(operand)}: removed")


def get_model(name: str, force: bool) -> None:
    """Fetch a model of the catalogue into the user's folder; size and licence are shown first."""
    from hark.atomic import refuse_existing
    from hark.bundle import is_bundle
    from hark.exchange import catalogue
    from hark.models import user_folder

    entry = catalogue.find(name)
    folder = user_folder() / entry.name
    refuse_existing(folder, is_bundle, force)
    sys.stderr.write(f"{entry.address}: about {entry.megabytes} MB, licence: {entry.licence}\n")
    catalogue.fetch(entry, folder, force, print_note)
    typer.echo(str(folder))


def show_catalogue(text: str, as_json: bool) -> None:
    """Print the public models of a language: name, languages, approximate size and licence."""
    from hark.exchange import catalogue

    found = catalogue.search(text)
    if as_json:
        trees = [
            {
                "name": each.name,
                "pairs": [[each.source, each.target]] if each.target else [],
                "address": each.address,
                "approximate_bytes": each.megabytes * 1_000_000,
                "licence": each.licence,
            }
            for each in found
        ]
        sys.stdout.write(json.dumps(trees, indent=2) + "\n")
        return
    if not found:
        raise UserError(f"{text}: no public model in the catalogue; name a language code, such as de, or a pair: en-de")
    width = max(len(each.name) for each in found)
    for each in found:
        sys.stdout.write(f"{each.name.ljust(width)}  {each.languages:14}  about {each.megabytes} MB  {each.licence}\n")
    sys.stdout.flush()
    print_note("fetch one with hark models get NAME")


def show_card(name: str) -> None:
    from hark.bundle import Bundle
    from hark.models import named_folder

    bundle = Bundle.open(named_folder(name))
    sys.stdout.write(bundle.card)
    sys.stdout.flush()
    print_note(str(bundle.folder))


def as_tree(model: "InstalledModel") -> dict[str, Any]:
    tree = {"name": model.name, "pairs": [list(pair) for pair in model.pairs], "folder": str(model.folder)}
    about = {"bytes": model.size, "licence": model.licence, "summary": model.summary}
    return tree | about | ({"problem": model.problem} if model.problem else {})


def show_table(installed: "list[InstalledModel]") -> None:
    """Print one line per model: name, languages, size and summary, cut to the width of the terminal."""
    rows = [(model.name, model.languages, f"{model.size / 1e6:.1f} MB") for model in installed]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    room = max(MIN_COLUMNS, shutil.get_terminal_size().columns) if sys.stdout.isatty() else None
    for model, (name, pair, size) in zip(installed, rows, strict=True):
        about = f"unusable: {model.problem}" if model.problem else model.summary
        line = f"{name.ljust(widths[0])}  {pair.ljust(widths[1])}  {size.rjust(widths[2])}  {about}".rstrip()
        sys.stdout.write((line if room is None or len(line) <= room else line[: room - 1] + "…") + "\n")


def show_places(any_found: bool) -> None:
    from hark.models import places, shipped_folder, user_folder

    if not any_found:
        sys.stderr.write("no models installed\n")
    sys.stderr.write("\nsearched in this order; the first model for a language pair wins:\n")
    for place in places():
        notes = {user_folder(): "your own models", shipped_folder(): "comes with hark"}
        sys.stderr.write(f"  {place}  ({notes.get(place, 'from HARK_MODELS')})\n")
    sys.stderr.write("use any model with hark translate -m FOLDER; show a model's card with hark models NAME\n")
