"""Options that several verbs share.

Metavariables mean the same in all verbs: a MODEL is a folder, a run or a name; -o takes a FILE or a FOLDER; N is a
whole number. The help lists choices.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hark.cli import completion as candidates


def option(names: str, metavar: str, about: str, **more: Any) -> Any:
    """An option with a value, such as "-o --output", "FILE", "Write to this file."."""
    return typer.Option(*names.split(), metavar=metavar, help=about, **more)


def switch(names: str, about: str, **more: Any) -> Any:
    return typer.Option(*names.split(), help=about, **more)


def argument(metavar: str, about: str, **more: Any) -> Any:
    return typer.Argument(metavar=metavar, help=about, **more)


Model = Annotated[
    str | None,
    option(
        "-m --model",
        "MODEL",
        "Model to use: a folder, a run or a name; see hark models.",
        autocompletion=candidates.models,
    ),
]
OneModel = Annotated[str, argument("MODEL", "A model: a folder, a run or a name.", autocompletion=candidates.models)]


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
    argument(
        "[RECIPE]",
        "A recipe: a file, or a name from hark config --recipes.",
        autocompletion=candidates.recipe_or_settings,
    ),
]
Overrides = Annotated[
    list[str] | None,
    argument(
        "[SETTING=VALUE]...", "Settings to override; see hark config --explain.", autocompletion=candidates.settings
    ),
]
PreparedText = Annotated[Path, argument("DATASET", "A dataset from hark prepare, in either direction.")]
NewModel = Annotated[Path, option("-o --output", "FOLDER", "Write the model to this folder.")]
Storage = Annotated[
    Literal["float32", "bfloat16", "float16", "int8"],
    option("--weights", "TYPE", "Store weights as float32, bfloat16, float16 or int8."),
]
Search = Annotated[
    list[str] | None,
    option(
        "--search",
        "SETTING=VALUE",
        "Override a setting of [decode]; see hark config --explain. Repeatable.",
        autocompletion=candidates.search_settings,
    ),
]
Protect = Annotated[bool, switch("--protect/--no-protect", "Keep URLs, {placeholders}, tags and 12.5 kg unchanged.")]
Errors = Annotated[
    Literal["strict", "replace"], option("--errors", "ACTION", "On bytes that are not UTF-8: strict (stop) or replace.")
]
Truncate = Annotated[bool, switch("--truncate", "Cut texts that are too long for the model, instead of stopping.")]
Engine = Annotated[
    Literal["auto", "ctranslate2", "torch"],
    option("--engine", "ENGINE", "auto (chosen by device), ctranslate2 or torch."),
]
Device = Annotated[str, option("--device", "DEVICE", "auto, cpu, cuda or cuda:1.")]
Precision = Annotated[
    Literal["auto", "int8", "int16", "float32", "bfloat16"],
    option("--precision", "TYPE", "auto (int8 on a CPU, bfloat16 on a GPU), int8, int16, float32 or bfloat16."),
]
Force = Annotated[bool, switch("--force", "Replace existing output.")]


def check_threads(threads: int | None) -> int | None:
    from hark.machine import check_workers

    return check_workers(threads, "--threads")


Threads = Annotated[
    int | None, option("--threads", "N", "CPU threads; by default one per core.", min=1, callback=check_threads)
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
