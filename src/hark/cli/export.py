"""`hark export`: write a model in the format of another program."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from hark.cli import options
from hark.cli.options import option, switch

EXAMPLES = (
    "hark export en-de --to ctranslate2 -o en-de.ct2",
    "hark export en-de --to huggingface -o en-de.hf",
    "hark export runs/mine --to onnx --precision int8 -o mine.onnx",
    "hark export en-de --to argos --check sentences.txt -o en-de.argos",
)


def export(
    bundle: options.OneModel,
    output: Annotated[Path, option("-o --output", "FOLDER", "Write the export to this folder.")],
    kind: Annotated[
        Literal["ctranslate2", "huggingface", "onnx", "argos"],
        option("--to", "KIND", "ctranslate2, huggingface, onnx or argos."),
    ],
    precision: Annotated[
        Literal["float32", "float16", "int16", "int8"] | None,
        option(
            "--precision",
            "TYPE",
            "Store weights as float32, float16, int16 or int8; by default int8 for ctranslate2 and argos, "
            "else float32.",
        ),
    ] = None,
    check_file: Annotated[
        Path | None, option("--check", "FILE", "Also compare the translations of these sentences, one per line.")
    ] = None,
    no_check: Annotated[bool, switch("--no-check", "Do not compare the export with hark.")] = False,
    force: options.Force = False,
) -> None:
    """Write a model in the format of another program.

    The export is loaded with that program and compared with hark on a fixed set of sentences: tokens, logits and
    translations. If anything differs, nothing is written.
    """
    from hark.atomic import refuse_existing
    from hark.bundle import Bundle
    from hark.card import describe_proof
    from hark.errors import UserError
    from hark.exchange.export import export_bundle, is_export
    from hark.models import named_folder

    if no_check and check_file is not None:
        raise UserError("--check and --no-check cannot be combined")
    original = Bundle.open(named_folder(bundle))
    refuse_existing(output, is_export, force)
    done = export_bundle(original, kind, output, precision, check=not no_check, check_file=check_file, force=force)
    typer.echo(f"{output}: {kind}, {done.storage}, {done.size / 1e6:.1f} MB")
    typer.echo(describe_proof(done.proof))
