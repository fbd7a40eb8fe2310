"""`hark shrink`: store a model's weights in fewer bits."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hark.cli import options
from hark.cli.options import option

EXAMPLES = ("hark shrink runs/mine -o mine", "hark shrink runs/mine --weights bfloat16 -o mine")


def shrink(
    bundle: options.OneModel,
    output: options.NewModel,
    weights: Annotated[
        Literal["int8", "bfloat16", "float16"],
        option("--weights", "TYPE", "Store weights as int8, bfloat16 or float16."),
    ] = "int8",
    force: options.Force = False,
) -> None:
    """Store a model's weights in fewer bits.

    int8 takes a quarter of the space. Translations on a CPU, which computes in int8, stay the same.
    """
    from hark.atomic import refuse_existing, refuse_overlap
    from hark.bundle import Bundle, is_bundle
    from hark.models import named_folder
    from hark.weights import shrink as shrink_bundle

    original = Bundle.open(named_folder(bundle))
    refuse_overlap(output, [original.folder])
    refuse_existing(output, is_bundle, force)
    before = size_of(original.folder)
    shrink_bundle(original, output, weights, force)
    typer.echo(f"{output}: {weights}, {size_of(output) / 1e6:.1f} MB ({original.folder}: {before / 1e6:.1f} MB)")


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())
