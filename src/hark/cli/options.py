"""Options that several verbs share.

Metavariables mean the same in all verbs: a MODEL is a folder, a run or a name; -o takes a FILE or a FOLDER; N is a
whole number. The help lists choices.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hark.cli import completion as candidates

Model = Annotated[
    str | None,
    typer.Option(
        "-m",
        "--model",
        metavar="MODEL",
        help="Model to use: a folder, a run or a name; see hark models.",
        autocompletion=candidates.models,
    ),
]
OneModel = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model: a folder, a run or a name.", autocompletion=candidates.models)
]


def read_language(language: str | None) -> str | None:
    from hark.text.language_names import read_language

    return language and read_language(language)


def language(short: Literal["-s", "-t"], name: str, about: str) -> Any:
    """An option that takes the code or the name of a language."""
    known = candidates.source_languages if short == "-s" else candidates.target_languages
    return typer.Option(short, name, metavar="LANG", help=about, callback=read_language, autocompletion=known)


Source = Annotated[
    str | None, language("-s", "--source", "Language of the text, e.g. en or English; detected by default.")
]
Target = Annotated[str | None, language("-t", "--target", "Language to translate into, e.g. de or German.")]
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
        help="Settings to override; see hark config --explain.",
        autocompletion=candidates.settings,
    ),
]
PreparedText = Annotated[
    Path, typer.Argument(metavar="DATASET", help="A dataset from hark prepare, in either direction.")
]
NewModel = Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Write the model to this folder.")]
Storage = Annotated[
    Literal["float32", "bfloat16", "float16", "int8"],
    typer.Option("--weights", metavar="TYPE", help="Store weights as float32, bfloat16, float16 or int8."),
]
Search = Annotated[
    list[str] | None,
    typer.Option(
        "--search",
        metavar="SETTING=VALUE",
        help="Override a setting of [decode]; see hark config --explain. Repeatable.",
        autocompletion=candidates.search_settings,
    ),
]
Protect = Annotated[
    bool, typer.Option("--protect/--no-protect", help="Keep URLs, {placeholders}, tags and 12.5 kg unchanged.")
]
Errors = Annotated[
    Literal["strict", "replace"],
    typer.Option("--errors", metavar="ACTION", help="On bytes that are not UTF-8: strict (stop) or replace."),
]
Truncate = Annotated[
    bool, typer.Option("--truncate", help="Cut texts that are too long for the model, instead of stopping.")
]
Engine = Annotated[
    Literal["auto", "ctranslate2", "torch"],
    typer.Option("--engine", metavar="ENGINE", help="auto (chosen by device), ctranslate2 or torch."),
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
Force = Annotated[bool, typer.Option("--force", help="Replace existing output.")]


def check_threads(threads: int | None) -> int | None:
    from hark.machine import check_workers

    return check_workers(threads, "--threads")


Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, metavar="N", callback=check_threads, help="CPU threads; by default one per core."),
]


def search_changes(settings: list[str], beam: int | None, nbest: int) -> dict[str, Any]:
    """The search settings that the command line overrides."""
    from hark import configfile

    tree: dict[str, Any] = {}
    for setting in settings:
        configfile.apply_override(tree, f"decode.{setting}")
    changes = dict(tree.get("decode", {}))
    if beam is not None:
        changes["beam"] = beam
    if nbest > 1:
        changes["nbest"] = nbest
    return changes
