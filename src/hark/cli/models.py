"""`hark models`: the models that are here, and where others can be put."""

import json
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hark.cli import candidates
from hark.cli.streams import say, watched

if TYPE_CHECKING:
    from hark.models import Known

EXAMPLES = ("hark models", "hark models en-de", "hark models --json")
NARROW = 60
"""Columns that a terminal is taken to have at least."""


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]",
            help="Show the card of this one: a folder, a run or a name.",
            autocompletion=candidates.models,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for other programs.")] = False,
) -> None:
    """List the models that are here, or show the card of one.

    They are those that hark translate finds by itself. They come with hark, or lie in your own folder or in those that
    HARK_MODELS names; the first of a pair is taken.
    """
    from hark.models import list_models

    if name is not None:
        show_card(name)
        return
    found = list_models()
    if as_json:
        sys.stdout.write(json.dumps([as_tree(each) for each in found], indent=2, ensure_ascii=False) + "\n")
        return
    show_table(found)
    sys.stdout.flush()
    if watched() or not found:
        show_places(bool(found))


def show_card(name: str) -> None:
    from hark.bundle import Bundle
    from hark.models import named_folder

    bundle = Bundle.open(named_folder(name))
    sys.stdout.write(bundle.card)
    sys.stdout.flush()
    say(str(bundle.folder))


def as_tree(model: "Known") -> dict[str, Any]:
    tree = {"name": model.name, "pairs": [list(pair) for pair in model.pairs], "folder": str(model.folder)}
    about = {"bytes": model.size, "summary": model.summary}
    return tree | about | ({"problem": model.problem} if model.problem else {})


def show_table(found: "list[Known]") -> None:
    """A line for each: name, languages, size and summary, as far as there is room."""
    rows = [(each.name, each.languages, f"{each.size / 1e6:.1f} MB") for each in found]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    room = max(NARROW, shutil.get_terminal_size().columns) if sys.stdout.isatty() else None
    for each, (name, pair, size) in zip(found, rows, strict=True):
        about = f"cannot be used: {each.problem}" if each.problem else each.summary
        line = f"{name.ljust(widths[0])}  {pair.ljust(widths[1])}  {size.rjust(widths[2])}  {about}".rstrip()
        sys.stdout.write((line if room is None or len(line) <= room else line[: room - 1] + "…") + "\n")


def show_places(any_found: bool) -> None:
    from hark.models import places, shipped_folder, user_folder

    if not any_found:
        sys.stderr.write("no models here yet\n")
    sys.stderr.write("\nsearched in this order; the first model of a pair is taken:\n")
    for place in places():
        whose = {user_folder(): "your own: put others here", shipped_folder(): "comes with hark"}
        sys.stderr.write(f"  {place}  ({whose.get(place, 'from HARK_MODELS')})\n")
    sys.stderr.write("or name one: hark translate -m FOLDER; what one says of itself: hark models NAME\n")
