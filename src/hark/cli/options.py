"""Options that several verbs have, said once.

What a value is called is the same in all verbs: a MODEL is a folder, a run or a name; -o takes a FILE or a FOLDER; N is
a whole number; choices are listed in the help.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hark.cli import candidates

Model = Annotated[
    str | None,
    typer.Option(
        "-m",
        "--model",
        metavar="MODEL",
        help="The model: a folder, a run or a name, see hark models.",
        autocompletion=candidates.models,
    ),
]
OneModel = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model: a folder, a run or a name.", autocompletion=candidates.models)
]
Source = Annotated[
    str | None,
    typer.Option(
        "-s",
        "--source",
        metavar="LANG",
        help="Language of the text, e.g. en; by default told from it.",
        autocompletion=candidates.source_languages,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "-t",
        "--target",
        metavar="LANG",
        help="Language to translate into, e.g. de.",
        autocompletion=candidates.target_languages,
    ),
]
Recipe = Annotated[
    str | None,
    typer.Argument(
        metavar="[RECIPE]",
        help="A recipe: a file, or a name from hark config --recipes.",
        autocompletion=candidates.recipe_or_settings,
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SETTING=VALUE]...",
        help="Settings to change, see hark config --explain.",
        autocompletion=candidates.settings,
    ),
]
PreparedText = Annotated[
    Path, typer.Argument(metavar="DATASET", help="A dataset that hark prepare made, in either direction.")
]
NewModel = Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="The model to write.")]
Storage = Annotated[
    Literal["float32", "bfloat16", "float16", "int8"],
    typer.Option("--weights", metavar="TYPE", help="Store weights as float32, bfloat16, float16 or int8."),
]
Search = Annotated[
    list[str] | None,
    typer.Option(
        "--search",
        metavar="SETTING=VALUE",
        help="A setting of [decode], see hark config --explain. Again for each.",
        autocompletion=candidates.search_settings,
    ),
]
Protect = Annotated[
    bool, typer.Option("--protect/--no-protect", help="Keep URLs, {placeholders}, tags and 12.5 kg unchanged.")
]
Errors = Annotated[
    Literal["strict", "replace"],
    typer.Option("--errors", metavar="ACTION", help="At bytes that are not UTF-8: strict (stop) or replace."),
]
Engine = Annotated[
    Literal["auto", "ctranslate2", "torch"],
    typer.Option("--engine", metavar="ENGINE", help="auto (the one for the device), ctranslate2 or torch."),
]
Device = Annotated[str, typer.Option("--device", metavar="DEVICE", help="auto, cpu, cuda or cuda:1.")]
Precision = Annotated[
    Literal["auto", "int8", "int16", "float32", "bfloat16"],
    typer.Option(
        "--precision",
        metavar="TYPE",
        help="auto (int8 on a CPU, bfloat16 on a GPU), int8, int16, float32 or bfloat16.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]


def check_threads(given: int | None) -> int | None:
    from hark.machine import check_workers

    return check_workers(given, "--threads")


Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, metavar="N", callback=check_threads, help="On a CPU; by default one a core."),
]


def search_changes(settings: list[str], beam: int | None, nbest: int) -> dict[str, Any]:
    """What the command line changes in the model's own settings of the search."""
    from hark import configfile

    tree: dict[str, Any] = {}
    for each in settings:
        configfile.apply_override(tree, f"decode.{each}")
    changes = dict(tree.get("decode", {}))
    if beam is not None:
        changes["beam"] = beam
    if nbest > 1:
        changes["nbest"] = nbest
    return changes
