"""`hark models`: list installed models."""

import json
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hark.cli import candidates
from hark.cli.streams import is_interactive, print_note

if TYPE_CHECKING:
    from hark.models import InstalledModel

EXAMPLES = ("hark models", "hark models en-de", "hark models --json")
NARROW = 60
"""Assumed minimum width of a terminal, in columns."""


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]",
            help="Show the card of this model: a folder, a run or a name.",
            autocompletion=candidates.models,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List installed models, or show the card of one.

    Searches the folders in HARK_MODELS, your own folder and the models that come with hark. For each language pair,
    hark translate uses the first model.
    """
    from hark.models import list_models

    if name is not None:
        show_card(name)
        return
    installed = list_models()
    if as_json:
        sys.stdout.write(json.dumps([as_tree(each) for each in installed], indent=2, ensure_ascii=False) + "\n")
        return
    show_table(installed)
    sys.stdout.flush()
    if is_interactive() or not installed:
        show_places(bool(installed))


def show_card(name: str) -> None:
    from hark.bundle import Bundle
    from hark.models import named_folder

    bundle = Bundle.open(named_folder(name))
    sys.stdout.write(bundle.card)
    sys.stdout.flush()
    print_note(str(bundle.folder))


def as_tree(model: "InstalledModel") -> dict[str, Any]:
    tree = {"name": model.name, "pairs": [list(pair) for pair in model.pairs], "folder": str(model.folder)}
    about = {"bytes": model.size, "summary": model.summary}
    return tree | about | ({"problem": model.problem} if model.problem else {})


def show_table(installed: "list[InstalledModel]") -> None:
    """Print one line per model: name, languages, size and summary, cut to the width of the terminal."""
    rows = [(each.name, each.languages, f"{each.size / 1e6:.1f} MB") for each in installed]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    room = max(NARROW, shutil.get_terminal_size().columns) if sys.stdout.isatty() else None
    for each, (name, pair, size) in zip(installed, rows, strict=True):
        about = f"unusable: {each.problem}" if each.problem else each.summary
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
