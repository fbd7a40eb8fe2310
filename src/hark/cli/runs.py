"""`hark runs`: list the runs in a folder with their state and best score."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hark.cli.options import argument, switch
from hark.errors import UserError

if TYPE_CHECKING:
    from hark.monitor.overview import Overview

EXAMPLES = ("hark runs", "hark runs experiments", "hark runs --json")
COLUMNS = ("run", "state", "step", "loss", "best", "tokens/s", "age", "size")
STYLES = {"running": "cyan", "finished": "green", "interrupted": "yellow"}
TOKENS, SIZE = COLUMNS.index("tokens/s"), COLUMNS.index("size")


def runs(
    folder: Annotated[Path, argument("[FOLDER]", "Folder that contains runs.")] = Path("runs"),
    as_json: Annotated[bool, switch("--json", "Print JSON.")] = False,
) -> None:
    """List training runs, newest first."""
    from hark.monitor.overview import overviews, size_on_disk

    if not folder.exists():
        raise UserError(f"{folder}: no such folder; name the folder of your runs: hark runs FOLDER")
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    found = [(run, size_on_disk(run.path)) for run in overviews(folder)]
    if as_json:
        rows = [asdict(each) | {"path": str(each.path), "bytes": size} for each, size in found]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    elif not found:
        sys.stderr.write(f"{folder}: no runs yet; start one with hark train RECIPE.toml\n")
    elif sys.stdout.isatty():
        show_table([cells(each, size) for each, size in found])
    else:
        from hark.pages.formats import aligned

        table = [COLUMNS, *(cells(each, size) for each, size in found)]
        sys.stdout.writelines(f"{line}\n" for line in aligned(table, left=2))


def cells(run: "Overview", size: int) -> tuple[str, ...]:
    """The row of a run in the table."""
    from hark.pages import formats

    best = "-"
    if run.best is not None:
        shown = formats.loss(run.best.value) if run.best.name == "nll" else formats.score(run.best.value)
        best = f"{run.best.name} {shown}"
    return (
        run.name,
        run.state,
        formats.count(run.step) + (f"/{formats.count(run.steps)}" if run.steps else ""),
        formats.loss(run.loss) if run.loss is not None else "-",
        best,
        formats.short(run.tokens_per_second) if run.tokens_per_second is not None else "-",
        formats.duration(time.time() - run.time) if run.time is not None else "-",
        formats.size(size),
    )


def show_table(rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    shown = list(range(len(COLUMNS)))
    if console.width < 90:  # drop the least important columns
        shown = [each for each in shown if each not in (TOKENS, SIZE)]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in shown:
        if column == 0:
            table.add_column(COLUMNS[column], style="bold", overflow="fold", min_width=12)
        else:
            table.add_column(COLUMNS[column], no_wrap=True, justify="left" if column < 2 else "right")
    for row in rows:
        # Text, not markup: the name of a run may contain brackets.
        table.add_row(*(Text(row[each], STYLES.get(row[1], "red") if each == 1 else "") for each in shown))
    console.print(table)
