"""`hark config`: the settings, resolved or explained."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from hark.config import Config, CorpusConfig
from hark.errors import UserError


def config(
    recipe: Annotated[
        str | None,
        typer.Argument(help="A recipe, and then section.key=value overrides.", metavar="[RECIPE.toml]"),
    ] = None,
    overrides: Annotated[list[str] | None, typer.Argument(metavar="[SECTION.KEY=VALUE]...")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Every setting with its meaning and default.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to a file instead.")] = None,
) -> None:
    """Show or explain every setting."""
    from hark import configfile
    from hark.cli.recipe import say_what_moved

    file, changes = configfile.split_words(recipe, overrides)
    tree = configfile.load(file, changes)
    say_what_moved(file, changes)
    text = explanation(tree) if explain else configfile.dump(tree)
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{output}: cannot be written: {error.strerror}") from None


def explanation(tree: Config) -> str:
    """A paragraph a setting: plain text, so that it can be searched with grep."""
    from hark import configfile

    lines: list[str] = []
    corpora = configfile.explain_members(CorpusConfig, "data.train[].")
    for each in (*configfile.explain(tree), *corpora):
        here = "" if each.value == each.default else f"   here: {each.value}"
        lines += [f"{each.key} = {each.default}{here}", f"    {each.meaning}", f"    allowed: {each.allowed}", ""]
    lines += ["data.dev[] and data.test[] are as data.train[], without weight."]
    return "\n".join(lines) + "\n"
