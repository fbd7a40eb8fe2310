"""`hark average`: the mean of a run's last checkpoints, as a bundle."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def average(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The bundle to write.")],
    last: Annotated[
        int | None, typer.Option("--last", min=1, help="How many checkpoints; by default the recipe's.")
    ] = None,
    weights: Annotated[
        Literal["float32", "bfloat16", "float16", "int8"], typer.Option("--weights", help="What they are stored in.")
    ] = "float32",
) -> None:
    """Average a run's last checkpoints into a bundle."""
    from hark import configfile
    from hark.bundle import Bundle
    from hark.errors import UserError
    from hark.rundir import RunDir
    from hark.train.export import average_run
    from hark.weights import shrink

    folder = RunDir(run)
    if not folder.exists:
        raise UserError(f"{run}: is not a run; it has no {folder.config.name}")
    steps = average_run(folder, last or configfile.load(folder.config).train.average_last, output)
    if weights != "float32":
        shrink(Bundle.open(output), output, weights)
    typer.echo(f"{output}: the average of steps {', '.join(map(str, steps))}")
