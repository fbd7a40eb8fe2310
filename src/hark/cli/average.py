"""`hark average`: average a run's last checkpoints, or several models, into one model."""

from pathlib import Path
from typing import Annotated

import typer

from hark.cli import options
from hark.cli.options import argument, option

EXAMPLES = (
    "hark average runs/mine -o mine",
    "hark average runs/mine --last 5 --weights int8 -o mine",
    "hark average runs/a runs/b -o both",
)


def average(
    models: Annotated[list[str], argument("RUN|MODEL...", "A run, or several models: folders, runs or names.")],
    output: options.NewModel,
    last: Annotated[
        int | None, option("--last", "N", "Checkpoints to average; by default train.average_last.", min=1)
    ] = None,
    weights: options.Storage = "float32",
    force: options.Force = False,
) -> None:
    """Average a run's last checkpoints, or several models.

    Several models must have a common ancestor: the same initial weights.
    """
    from hark import configfile
    from hark.atomic import refuse_existing, refuse_overlap
    from hark.bundle import Bundle, is_bundle
    from hark.errors import UserError
    from hark.models import named_folder
    from hark.rundir import RunDir
    from hark.weights import average as average_bundles
    from hark.weights import shrink

    run = RunDir(Path(models[0])) if len(models) == 1 else None
    if run is None and last is not None:
        raise UserError("--last requires a single run")
    if run is not None and not run.exists:
        raise UserError(f"{run.path}: not a run: {run.config.name} is missing")
    bundles = [] if run else [Bundle.open(named_folder(model)) for model in models]
    refuse_overlap(output, [run.path] if run else [bundle.folder for bundle in bundles])
    refuse_existing(output, is_bundle, force)
    if run is None:
        average_bundles(bundles, output, weights, force)
        typer.echo(f"{output}: average of {', '.join(models)}")
        return
    from hark.train.export import average_run

    steps = average_run(run, last or configfile.load(run.config).train.average_last, output, force)
    if weights != "float32":
        shrink(Bundle.open(output), output, weights, force=True)
    typer.echo(f"{output}: average of steps {', '.join(map(str, steps))}")
