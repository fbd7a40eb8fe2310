"""`hark average`: average a run's last checkpoints, or several models, into one model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hark.cli import options

if TYPE_CHECKING:
    from hark.weights import Storage


EXAMPLES = (
    "hark average runs/mine -o mine",
    "hark average runs/mine --last 5 --weights int8 -o mine",
    "hark average runs/a runs/b -o both",
)


def average(
    models: Annotated[
        list[str],
        typer.Argument(metavar="RUN|MODEL...", help="A run, or several models: folders, runs or names."),
    ],
    output: options.NewModel,
    last: Annotated[
        int | None,
        typer.Option("--last", min=1, metavar="N", help="Checkpoints to average; by default train.average_last."),
    ] = None,
    weights: options.Storage = "float32",
    force: options.Force = False,
) -> None:
    """Average a run's last checkpoints, or several models.

    Several models must have a common ancestor: the same initial weights.
    """
    from hark.errors import UserError

    if len(models) == 1:
        average_steps(Path(models[0]), output, last, weights, force)
    elif last is not None:
        raise UserError("--last requires a single run")
    else:
        average_models(models, output, weights, force)


def average_steps(run: Path, output: Path, last: int | None, weights: "Storage", force: bool) -> None:
    from hark import configfile
    from hark.atomic import refuse_existing, refuse_overlap
    from hark.bundle import Bundle, is_bundle
    from hark.errors import UserError
    from hark.rundir import RunDir
    from hark.train.export import average_run
    from hark.weights import shrink

    folder = RunDir(run)
    if not folder.exists:
        raise UserError(f"{run}: not a run: {folder.config.name} is missing")
    refuse_overlap(output, [folder.path])
    refuse_existing(output, is_bundle, force)
    steps = average_run(folder, last or configfile.load(folder.config).train.average_last, output, force)
    if weights != "float32":
        shrink(Bundle.open(output), output, weights, force=True)
    typer.echo(f"{output}: average of steps {', '.join(map(str, steps))}")


def average_models(models: list[str], output: Path, weights: "Storage", force: bool) -> None:
    from hark.atomic import refuse_existing, refuse_overlap
    from hark.bundle import Bundle, is_bundle
    from hark.models import named_folder
    from hark.weights import average as average_bundles

    bundles = [Bundle.open(named_folder(model)) for model in models]
    refuse_overlap(output, [bundle.folder for bundle in bundles])
    refuse_existing(output, is_bundle, force)
    average_bundles(bundles, output, weights, force)
    typer.echo(f"{output}: average of {', '.join(models)}")
