"""`hark reproduce`: the paper's tables and figures, measured."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from hark.cli import completion as candidates
from hark.cli import options
from hark.cli.options import argument, option

EXAMPLES = (
    "hark reproduce",
    "hark reproduce table1",
    "hark reproduce table3 --scale medium --data datasets",
    "hark reproduce table2 --scale full --data datasets/wmt14-en-de",
)


def reproduce(
    name: Annotated[
        str | None,
        argument(
            "[NAME]",
            "table1, table2, table3, table4, figures or ablate; without it, list them with their cost.",
            autocompletion=candidates.reproducible,
        ),
    ] = None,
    scale: Annotated[
        Literal["small", "medium", "full"],
        option(
            "--scale",
            "SIZE",
            "small (minutes on 2 cores), medium (about half an hour on one H200) or full (the paper's own "
            "budget and text).",
        ),
    ] = "small",
    data: Annotated[
        Path | None,
        option(
            "--data",
            "FOLDER",
            "A prepared dataset, or a folder with the text of the recipe europarl-en-de; by default a small "
            "built-in sample. For table4, a folder with treebanks.",
        ),
    ] = None,
    steps: Annotated[
        int | None, option("--steps", "N", "Steps of each training run, instead of the scale's.", min=1)
    ] = None,
    only: Annotated[
        list[str] | None,
        option(
            "--only",
            "NAME",
            "Measure only the row of this name, such as A-4 of table3; repeatable. So GPUs share a table, which "
            "is written once all rows are there.",
        ),
    ] = None,
    output: Annotated[Path, option("-o --output", "FOLDER", "Folder of rows, tables and pictures.")] = Path(
        "reproduce"
    ),
    device: options.Device = "auto",
) -> None:
    """Measure the tables and figures of the paper again.

    Puts the paper's own figures beside ours, and says what differs.

    May be killed at any time: the same command keeps finished rows and resumes the run it was in. Writes Markdown,
    pictures and JSON to OUTPUT/NAME/SCALE.
    """
    if name is None:
        list_targets()
        return
    from hark.data.progress import show_progress
    from hark.pages import formats
    from hark.reproduce.corpora import open_text
    from hark.reproduce.cost import Cost, measure_speed
    from hark.reproduce.scales import SCALES
    from hark.reproduce.table4 import open_treebanks
    from hark.reproduce.targets import find_target
    from hark.reproduce.trial import StoppedError
    from hark.reproduce.work import Work, missing_parts, run_parts, select_parts, write_report
    from hark.train.processes import choose_device

    whole, chosen = find_target(name), SCALES[scale]
    target = select_parts(whole, only, chosen) if only else whole
    folder = output / name / scale
    parts = target.parts(chosen, steps)
    try:
        with show_progress() as progress:
            text = open_text(chosen, data, output, progress) if target.needs == "text" else None
        trees = open_treebanks(chosen, data) if target.needs == "trees" else {}
        work = Work(chosen, folder, device, text, trees, steps)
        missing = missing_parts(target, work)
        if missing:
            cost = sum((part.cost for part in missing), Cost())
            seconds = measure_speed(choose_device(device, 0)).seconds(cost)
            kept = f", {len(parts) - len(missing)} kept" if len(missing) < len(parts) else ""
            sys.stderr.write(
                f"{name}, {scale}: {len(missing)} of {len(parts)} parts to measure{kept}; about "
                f"{formats.duration(seconds)} on this machine\n"
            )
        with show_progress() as progress:
            rows = run_parts(target, work, progress)
    except StoppedError as stopped:
        sys.stderr.write("stopped and saved; the same command continues\n")
        raise typer.Exit(128 + stopped.number) from None
    left = missing_parts(whole, work)
    if left:
        names = ", ".join(part.name for part in left)
        sys.stdout.write(f"{folder}: {len(rows)} rows measured; the table still needs {names}\n")
        return
    for file in write_report(whole, work, run_parts(whole, work)):
        sys.stdout.write(f"{file}\n")


def list_targets() -> None:
    """Print the targets with what they cost at each scale."""
    from hark.pages import formats
    from hark.reproduce.scales import SCALES
    from hark.reproduce.targets import SHOWN, TARGETS, nominal_seconds

    for line in ([*SHOWN], [SCALES[name].about for name in SHOWN]):
        sys.stdout.write(f"{'':<9}{''.join(f'{each:<13}' for each in line)}\n")
    for name, target in TARGETS.items():
        costs = [nominal_seconds(target, scale) for scale in SHOWN]
        sys.stdout.write(f"{name:<9}{''.join(f'{formats.duration(cost):<13}' for cost in costs)}{target.about}\n")
