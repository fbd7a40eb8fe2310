"""`hark plot`: training curves of one or several runs, overlaid."""

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from hark.cli.options import argument, option, switch
from hark.cli.streams import STDOUT, write_text
from hark.errors import HarkWarning, UserError

if TYPE_CHECKING:
    from hark.monitor.curves import Run


EXAMPLES = ("hark plot runs/mine", "hark plot runs/a runs/b --axis time -o curves.svg")


def plot(
    folders: Annotated[list[Path], argument("RUN...", "Folders of runs.")],
    output: Annotated[
        Path, option("-o --output", "FILE", "Write a page (.html) or a picture (.svg); - for a page on stdout.")
    ] = Path("curves.html"),
    axis: Annotated[
        Literal["step", "tokens", "time"], option("--axis", "AXIS", "Horizontal axis: step, tokens or time.")
    ] = "step",
    show: Annotated[bool, switch("--open/--no-open", "Open it in the browser.")] = False,
) -> None:
    """Draw the training curves of one or several runs.

    Shows loss, dev scores, learning rate, gradient norm and speed on one self-contained page.
    """
    from hark.monitor.plot import draw, render

    kind = ".html" if output == STDOUT else output.suffix.lower()
    if kind not in (".html", ".htm", ".svg"):
        raise UserError(f"{output}: unknown format; name a .html or .svg file")
    if output.is_dir():
        raise UserError(f"{output}: is a folder; name a file")
    runs = read_runs(folders)
    text = draw(runs, axis) if kind == ".svg" else render(runs, axis)
    write_text(output, text)
    if output == STDOUT:
        return
    sys.stdout.write(f"{output}\n")
    if show:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())


def read_runs(folders: list[Path]) -> "list[Run]":
    """Read the runs in the order of the command line, without duplicates."""
    from hark.monitor.curves import Run
    from hark.monitor.overview import describe_run
    from hark.rundir import RunDir
    from hark.train.metrics import read_metrics

    unique = list({folder.resolve(): folder for folder in folders}.values())
    dirs = [RunDir(folder) for folder in unique]
    for run in dirs:
        if not run.metrics.is_file():
            problem = "not a run: metrics.jsonl is missing" if run.path.exists() else "no such folder"
            raise UserError(f"{run.path}: {problem}; list runs with hark runs")
    names = [run.name for run in dirs]
    runs = []
    for run in dirs:
        name = run.name if names.count(run.name) == 1 else str(run.path)
        history = read_metrics(run.metrics)
        if not history.records and history.unreadable:
            raise UserError(f"{run.metrics}: none of its {history.unreadable:,} lines is a valid record")
        if history.unreadable:
            lines = "1 invalid line" if history.unreadable == 1 else f"{history.unreadable:,} invalid lines"
            warnings.warn(f"{run.metrics}: skipped {lines}", HarkWarning, stacklevel=2)
        runs.append(Run(describe_run(run, name, history), history))
    if not any(run.history.train or run.history.dev for run in runs):
        where = ", ".join(str(run.path) for run in dirs)
        raise UserError(f"{where}: nothing to plot yet; the first record follows after train.log_steps steps")
    return runs
