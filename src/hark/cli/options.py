"""Options that several verbs have, said once."""

from typing import Annotated, Literal

import typer

Model = Annotated[
    str | None, typer.Option("-m", "--model", metavar="BUNDLE", help="A model's folder or name, see hark models.")
]
Source = Annotated[str | None, typer.Option("-s", "--source", metavar="CODE", help="Language of the text.")]
Target = Annotated[str | None, typer.Option("-t", "--target", metavar="CODE", help="Language to translate into.")]
Search = Annotated[
    list[str] | None,
    typer.Option("--search", metavar="KEY=VALUE", help="A setting of [decode], see hark config --explain."),
]
Protect = Annotated[
    bool, typer.Option("--protect/--no-protect", help="Keep URLs, {placeholders}, tags and 12.5 kg unchanged.")
]
Errors = Annotated[
    Literal["strict", "replace"], typer.Option("--errors", help="What to do with bytes that are not UTF-8.")
]
Engine = Annotated[
    Literal["auto", "ctranslate2", "torch"], typer.Option("--engine", help="By default the one for the device.")
]
Device = Annotated[str, typer.Option("--device", metavar="NAME", help="auto, cpu, cuda or cuda:1.")]
Precision = Annotated[
    Literal["auto", "int8", "int16", "float32", "bfloat16"],
    typer.Option("--precision", help="By default int8 on a CPU and bfloat16 on a GPU."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there already.")]


def check_threads(given: int | None) -> int | None:
    from hark.machine import check_workers

    return check_workers(given, "--threads")


Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, metavar="N", callback=check_threads, help="On a CPU; by default one a core."),
]
