"""`hark models`: the models that are here, and where others can be put."""

import json
import sys
from typing import Annotated

import typer


def models(as_json: Annotated[bool, typer.Option("--json", help="As JSON, for other programs.")] = False) -> None:
    """List the models that hark translate finds by itself.

    They come with hark, or lie in your own folder or in those that HARK_MODELS names; the first of a pair is taken.
    """
    from hark.decode.models import list_models, places, user_folder

    found = list_models()
    if as_json:
        rows = [
            {"name": each.name, "source": each.source, "target": each.target, "folder": str(each.folder)}
            | ({"problem": each.problem} if each.problem else {})
            for each in found
        ]
        sys.stdout.write(json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
        return
    rows_ = [(each.name, each.problem or each.pair, str(each.folder)) for each in found]
    widths = [max((len(row[column]) for row in rows_), default=0) for column in range(2)]
    for name, pair, folder in rows_:
        sys.stdout.write(f"{name.ljust(widths[0])}  {pair.ljust(widths[1])}  {folder}\n")
    sys.stdout.flush()
    if not found:
        sys.stderr.write("no models here yet\n")
    searched = ", ".join(map(str, places()))
    sys.stderr.write(f"put others into {user_folder()} (searched: {searched}), or name one: hark translate -m FOLDER\n")
